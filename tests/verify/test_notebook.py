"""`tfmigrate verify old.ipynb`: the notebook, and its migrated copy, really train."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import RuntimeFor
from tfmigrate import cli
from tfmigrate.verify.judge import verdict
from tfmigrate.verify.judge.compare import compare
from tfmigrate.verify.judge.plan import VerifyOptions
from tfmigrate.verify.judge.report import Report
from tfmigrate.verify.run import experiment
from tfmigrate.verify.run.launch import Launch
from tfmigrate.verify.run.world import Limits, World

CELLS = (
    "%matplotlib inline\nimport numpy as np\nfrom tensorflow import keras\n"
    "from tensorflow.keras.layers import Dense\nfrom tensorflow.keras.utils import multi_gpu_model",
    "!nvidia-smi\nrandom = np.random.RandomState(0)\nx = random.rand(96, 8)\ny = (x.sum(axis=1) > 4).astype('int64')",
    "model = keras.Sequential([Dense(8, activation='relu', input_shape=(8,)), Dense(2, activation='softmax')])\n"
    "parallel = multi_gpu_model(model, gpus=2)\nparallel.compile('sgd', 'sparse_categorical_crossentropy')",
    "parallel.fit(x, y, batch_size=32, epochs=2)\nmodel.summary()",
)


@pytest.mark.runs_tensorflow
def test_a_notebook_and_its_migrated_copy_train_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runtime_for: RuntimeFor, launch: Launch
) -> None:
    cells = [
        {"cell_type": "code", "execution_count": None, "id": f"c{i}", "metadata": {}, "outputs": [], "source": text}
        for i, text in enumerate(CELLS)
    ]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "old.ipynb").write_text(json.dumps(notebook))
    runtime = runtime_for("keras 3")

    def judge(options: VerifyOptions, **watchers: object) -> Report:
        """One run of each, where the real one has a dozen."""
        old = World("old", "restored", runtime, options.old.parent, options.old.name, replicas=2)
        new = World("new", "migrated", runtime, options.new.parent, options.new.name, replicas=2)
        first = experiment.run(old, Limits(seconds=300), folder=tmp_path / "first", launch=launch)
        assert first.ok, first.message
        second = experiment.run(new, Limits(seconds=300), tmp_path / "second", first.trace, launch=launch)
        assert second.ok, second.message
        comparison = compare(first.trace, second.trace, 1e-5)
        assert len(comparison.steps) == 6
        assert comparison.broken == ()
        return Report("EQUIVALENT", "both trained alike", "")

    monkeypatch.setattr(verdict, "verify", judge)
    monkeypatch.chdir(tmp_path)
    assert cli.run(["verify", "old.ipynb"]) == 0
