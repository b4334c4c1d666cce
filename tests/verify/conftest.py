"""A program, and made-up interpreters and runs for the tests that need no TensorFlow."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import RuntimeFor
from tfmigrate.verify.run.launch import Launch
from tfmigrate.verify.run.runtimes import Runtime

from .laboratory import Laboratory
from .processes import Fake, executable
from .worlds import Worlds


@pytest.fixture
def program(tmp_path: Path) -> Path:
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "train.py").write_text("print('hello')\n")
    return folder


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    """A runtime whose interpreter is a shell script; $2 is the configuration."""

    def make(body: str) -> Runtime:
        return Runtime(executable(tmp_path / "interpreter", body), (3, 8, 1), "2.3.4", None)

    return make


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Laboratory:
    return Laboratory(tmp_path, monkeypatch)


@pytest.fixture
def worlds(tmp_path: Path, runtime_for: RuntimeFor, launch: Launch) -> Worlds:
    return Worlds(tmp_path, runtime_for, launch)
