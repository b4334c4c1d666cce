"""Rows of notes between commas, and settings of a small network."""

import json

import numpy
import standins

for name, count in (("train.csv", 32), ("val.csv", 16)):
    numpy.savetxt(name, numpy.random.randint(40, 90, (count, 9)), "%d", ",")
settings = {"models": ["small"], "small": {"model": "single", "layers": [[12, 8], [10]]}, "batch_sizes": [8]}
settings.update(dropouts=[0.0], epochs=2, gpus=[2])
standins.text("config.yaml", json.dumps(settings))
