"""What `--strategy multi-worker` writes beside the strategy: who saves where, and what is refused."""

from __future__ import annotations

import os
import tempfile
import types
from collections.abc import Callable
from pathlib import Path

import libcst as cst
import pytest

from tfmigrate.result import FileResult
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

SAVES = """\
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=4)
parallel_model.compile(loss="mse", optimizer="sgd")
parallel_model.save_weights("model.weights.h5")
"""


def migrated(**files: str) -> dict[str, FileResult]:
    sources = {f"{name}.py": text for name, text in files.items()}
    return {file.path: file for file in migrate_sources(sources, Settings(strategy="multi-worker"))}


def helper() -> Callable[..., Callable[..., str]]:
    """The function that migration writes round save(), alone."""
    (file,) = migrated(train=SAVES).values()
    (function,) = (one for one in cst.parse_module(file.after).body if isinstance(one, cst.FunctionDef))
    names: dict[str, Callable[..., Callable[..., str]]] = {}
    exec(cst.Module([function]).code, {"os": os, "tempfile": tempfile}, names)
    return names["by_chief"]


class Model:
    """A model under a strategy; save() answers with the path it was given."""

    def __init__(self, task: tuple[str | None, int | None] | None, *jobs: str) -> None:
        resolver = None
        if task is not None:
            resolver = types.SimpleNamespace(
                task_type=task[0], task_id=task[1], cluster_spec=lambda: types.SimpleNamespace(jobs=list(jobs))
            )
        self.distribute_strategy = types.SimpleNamespace(cluster_resolver=resolver)

    def save(self, filepath: str, overwrite: bool = True) -> str:
        return filepath


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(Model(None), id="one machine's strategy"),
        pytest.param(Model((None, None)), id="no TF_CONFIG"),
        pytest.param(Model(("worker", 0), "worker"), id="the first worker"),
        pytest.param(Model(("chief", 0), "chief", "worker"), id="the chief"),
    ],
)
def test_the_chief_writes_to_the_path(model: Model) -> None:
    assert helper()(model.save)("out/model.keras") == "out/model.keras"


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(Model(("worker", 1), "worker"), id="the second worker"),
        pytest.param(Model(("worker", 0), "chief", "worker"), id="the first worker beside a chief"),
    ],
)
def test_everyone_else_writes_to_a_scratch_folder(model: Model) -> None:
    written = Path(helper()(model.save)(filepath="out/model.keras", overwrite=False))
    assert written.name == "model.keras"
    assert written.parent.is_dir()
    assert written.parent != Path("out")


def test_a_second_file_makes_no_second_strategy() -> None:
    one = SAVES.replace("model = ", "def first():\n    pass\n\n\nmodel = ", 1)
    two = f"import one\n{SAVES}\none.first()\n"
    files = migrated(one=one, two=two)
    made = sum(file.after.count("MultiWorkerMirroredStrategy()") for file in files.values())
    refused = [finding.code for file in files.values() for finding in file.findings if finding.action == "refuse"]
    assert made == 1
    assert "TFM107" in refused
