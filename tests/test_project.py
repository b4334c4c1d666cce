"""The project round the programs: which files are looked at, and that they change together with their program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tfmigrate import migrate
from tfmigrate.files import pins, write
from tfmigrate.files import project as project_files
from tfmigrate.result import Result
from tfmigrate.settings import Settings

TEXT = next((ROOT / "fixtures" / "adadelta_mlp" / "before").glob("*.py")).read_text(encoding="utf-8")
REFUSED = """\
from keras.utils import multi_gpu_model


def to_gpus(model):
    return multi_gpu_model(model, 2)
"""
CELL = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model
model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile(loss="mse", optimizer="sgd")
"""


@pytest.fixture
def program(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose program lies in src/, with its requirements at the root."""
    (project / ".git").mkdir(exist_ok=True)
    (project / "src").mkdir()
    (project / "src" / "train.py").write_text(TEXT, encoding="utf-8")
    (project / "requirements.txt").write_text("tensorflow-gpu==1.15\nkeras==2.3.1\nnumpy<1.20\n")
    monkeypatch.chdir(project)
    return project


def found(result: Result) -> dict[str, list[tuple[str, str]]]:
    return {
        file.path: [(finding.code, finding.action) for finding in file.findings]
        for file in result.files
        if not file.path.endswith(".py")
    }


ALL = [("TFM601", "rewrite"), ("TFM602", "rewrite"), ("TFM603", "rewrite")]


def test_the_requirements_change_with_the_program(program: Path) -> None:
    assert found(migrate.check(["."], Settings())) == {"requirements.txt": ALL}
    assert (program / "requirements.txt").read_text().startswith("tensorflow-gpu")
    result = migrate.fix(["."], Settings())
    assert (program / "requirements.txt").read_text() == "tensorflow>=2.4\nnumpy\n"
    assert all(finding.applied for _, finding in result.findings if finding.action == "rewrite")
    assert not migrate.check(["."], Settings()).files


def test_a_program_that_uses_the_callback_requires_tensorboard(program: Path) -> None:
    script = program / "src" / "train.py"
    script.write_text(f"{TEXT}\nboard = TensorBoard('logs')\n", encoding="utf-8")
    migrate.fix(["."], Settings())
    assert "tensorflow>=2.4\ntensorboard\n" in (program / "requirements.txt").read_text()


def test_all_or_none_is_written(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(temporary: str, path: str) -> None:
        if path.endswith("requirements.txt"):
            raise write.WriteError(path, "the disk is full")
        rename(temporary, path)

    rename = write._rename
    monkeypatch.setattr(write, "_rename", fails)
    before = {file: file.read_bytes() for file in program.rglob("*.*") if file.is_file()}
    result = migrate.fix(["."], Settings(jobs=1))
    assert {file.path for file in result.errors} == {"requirements.txt", "src/train.py"}
    assert {file: file.read_bytes() for file in before} == before


def test_a_project_without_a_program_to_migrate_is_not_looked_at(program: Path) -> None:
    (program / "src" / "train.py").write_text("import keras\n")
    assert found(migrate.check(["."], Settings())) == {}


ON_A_STRATEGY = """\
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
optimizer = tf.keras.optimizers.Adam(lr=0.1)
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
    model.compile(optimizer, "mse")
model.fit(x, y)
"""


def test_a_program_that_is_only_put_right_keeps_its_tensorflow(program: Path) -> None:
    (program / "src" / "train.py").write_text(ON_A_STRATEGY.replace("lr=", "learning_rate="))
    result = migrate.check(["."], Settings())
    assert [finding.code for _, finding in result.findings] == ["TFM412"]


def test_one_that_is_written_for_another_tensorflow_does_not(program: Path) -> None:
    (program / "src" / "train.py").write_text(ON_A_STRATEGY)
    assert found(migrate.check(["."], Settings())) == {"requirements.txt": ALL}
    loop = ON_A_STRATEGY.replace("model.fit(x, y)", "strategy.experimental_run_v2(step)")
    (program / "src" / "train.py").write_text(loop)
    assert found(migrate.check(["."], Settings())) == {"requirements.txt": ALL}


def test_unless_it_is_asked_for(program: Path) -> None:
    (program / "src" / "train.py").write_text("print(1)\n")
    (program / "other").mkdir()
    (program / "other" / "Dockerfile").write_text("FROM tensorflow/tensorflow:1.12.0\n")
    result = migrate.fix(["."], Settings(select=("TFM6",)))
    assert found(result) == {"requirements.txt": ALL, "other/Dockerfile": [("TFM601", "warn")]}
    assert (program / "requirements.txt").read_text() == "tensorflow>=2.4\nnumpy\n"
    assert found(migrate.check(["requirements.txt"], Settings(select=("TFM601",)))) == {}


def test_it_can_be_left_out(program: Path) -> None:
    assert found(migrate.check(["."], Settings(ignore=("TFM6",)))) == {}
    assert found(migrate.check(["."], Settings(per_file_ignores=(("requirements.txt", ("TFM603",)),)))) == {
        "requirements.txt": ALL[:2]
    }


def test_a_file_outside_the_given_paths_is_told(program: Path) -> None:
    result = migrate.fix(["src"], Settings())
    assert found(result) == {"requirements.txt": [(code, "warn") for code, _ in ALL]}
    assert (program / "requirements.txt").read_text().startswith("tensorflow-gpu")


def test_a_refused_file_keeps_the_old_packages(program: Path) -> None:
    (program / "src" / "other.py").write_text(REFUSED)
    result = migrate.fix(["."], Settings())
    assert found(result)["requirements.txt"][0] == ("TFM601", "warn")
    assert (program / "requirements.txt").read_text().startswith("tensorflow-gpu")


def test_standalone_keras_that_is_imported_elsewhere_stays(program: Path) -> None:
    (program / "tools.py").write_text("def show():\n    from keras.models import load_model\n")
    result = migrate.check(["."], Settings())
    assert found(result)["requirements.txt"] == [ALL[0], ("TFM602", "warn"), ALL[2]]
    assert any("tools.py still imports it" in finding.message for _, finding in result.findings)


def test_the_nearest_folder_counts(program: Path) -> None:
    (program / "src" / "requirements.txt").write_text("tensorflow==1.14\n")
    assert found(migrate.check(["."], Settings())) == {"src/requirements.txt": [("TFM601", "rewrite")]}


def test_each_folder_is_read_once_however_many_programs_lie_below_it(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        folder = program / "src" / f"part{number % 2}"
        folder.mkdir(exist_ok=True)
        (folder / f"train{number}.py").write_text(TEXT, encoding="utf-8")
    read: list[Path] = []
    pinned_in, files_named = pins.pinned_in, project_files.files_named
    monkeypatch.setattr(pins, "pinned_in", lambda folder: (read.append(folder), pinned_in(folder))[1])
    monkeypatch.setattr(
        project_files, "files_named", lambda folder, named: (read.append(folder), files_named(folder, named))[1]
    )
    assert found(migrate.check(["."], Settings())) == {"requirements.txt": ALL}
    folders = [program, program / "src", program / "src" / "part0", program / "src" / "part1"]
    assert sorted(read) == sorted(2 * [folder.resolve() for folder in folders])


def test_lines_of_a_notebook_that_install_are_told(program: Path) -> None:
    cells = ["!pip install -q tensorflow-gpu==1.15 pandas", "%%bash\npip install keras==2.2.4", CELL]
    notebook = {
        "cells": [
            {"cell_type": "code", "source": text, "metadata": {}, "outputs": [], "execution_count": None}
            for text in cells
        ],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path = program / "train.ipynb"
    path.write_text(json.dumps(notebook))
    result = migrate.fix(["train.ipynb"], Settings())
    (file,) = [file for file in result.files if file.path == "train.ipynb"]
    told = [(f.cell and f.cell.number, f.line, f.column, f.action) for f in file.findings if f.code.startswith("TFM6")]
    assert told == [(1, 1, 17, "warn"), (2, 2, 13, "warn")]
    assert "tensorflow-gpu==1.15 pandas" in path.read_text()
