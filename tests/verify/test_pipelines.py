"""What the probe leaves out of the pipelines of a run changes when batches are made, and not which."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import tfmigrate.verify

PROGRAM = """
import json, sys
import tensorflow as tf
sys.path.insert(0, sys.argv[1])
from probe import pipelines
from probe.devices import Machine

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 3)
strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1", "/cpu:2"])


def batches(epochs, in_graph):
    def step(iterator):
        return strategy.experimental_local_results(next(iterator))

    ask = tf.function(step) if in_graph else step
    taken = []
    for _ in range(epochs):
        iterator = iter(distributed)
        try:
            while True:
                taken.append([part.numpy().tolist() for part in ask(iterator)])
        except (StopIteration, tf.errors.OutOfRangeError):
            taken.append("end")
    return taken


def made():
    return [batches(2, in_graph=True), batches(1, in_graph=False)]


def rows():
    for i in range(10):
        yield i


data = tf.data.Dataset.from_generator(rows, output_signature=tf.TensorSpec((), tf.int64)).batch(4)
distributed = strategy.experimental_distribute_dataset(data)
was = made()
pipelines.install(tf, Machine(sys.argv[2], ["/cpu:0", "/cpu:1", "/cpu:2"], 3))
now = made()
print(json.dumps({"was": was, "now": now, "iterator": type(iter(distributed)._iterators[0]._iterator).__name__}))
"""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize(
    ("kind", "iterator"), [("logical CPU", "OwnedIterator"), ("logical GPU", "OwnedMultiDeviceIterator")]
)
def test_the_same_batches_reach_each_replica(kind: str, iterator: str, tmp_path: Path) -> None:
    """Ten rows in batches of four for three replicas: 2, 1, 1; the last ones 1, 1 and none."""
    script = tmp_path / "batches.py"
    script.write_text(PROGRAM)
    (home,) = tfmigrate.verify.__path__
    answer = subprocess.run(
        [sys.executable, script, home, kind], capture_output=True, text=True, check=True, timeout=300
    )
    told = json.loads(answer.stdout.splitlines()[-1])
    assert told["iterator"] == iterator
    assert told["now"] == told["was"]
    assert told["now"][1][0] == [[0, 1], [2, 3], []]
