"""Code that has nothing to do with multi_gpu_model is left alone: the standard library and what is installed here.

TensorFlow and Keras themselves are left out: they are the strategies' own code, and would be read as one program. So
would the 2,500 modules of Ray, which trains on strategies too.
"""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

import pytest

from tfmigrate import migrate
from tfmigrate.settings import Settings

SETTINGS = Settings(jobs=os.cpu_count() or 1)
EVERY = int(os.environ.get("TFMIGRATE_FOREIGN_EVERY", "400"))
"""Of the files that hold no needle, each so many-th goes through the whole codemod; `make reliability` asks for all."""


OWN = frozenset({"tfmigrate", "tensorflow", "keras", "tf_keras", "ray"})


def sources() -> list[Path]:
    """Every Python file of the standard library and of the installed packages but OWN, in a fixed order."""
    folders = [Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib"))]
    found = {path for folder in folders for path in folder.rglob("*.py") if path.is_file()}
    return sorted(path for path in found if not OWN.intersection(path.parts))


@pytest.fixture(scope="module")
def files() -> list[Path]:
    return sources()


def test_nothing_would_be_changed(files: list[Path]) -> None:
    assert len(files) > 1000
    result = migrate.check([str(path) for path in files], SETTINGS)
    assert result.scanned == len(files)
    assert [file.path for file in result.files if file.changed] == []
    crashed = [f"{file.path}: {file.error}" for file in result.errors if "please report" in (file.error or "")]
    assert crashed == []


def test_without_the_scan_too(files: list[Path]) -> None:
    """The codemod itself, on files it would never be given."""
    wrong, looked = [], 0
    for path in files[::EVERY]:
        if path.stat().st_size > 200_000:
            continue
        looked += 1
        data = path.read_bytes()
        file = migrate.migrate_bytes(data, "foreign.py", SETTINGS)
        if file.changed or "please report" in (file.error or ""):
            wrong.append(f"{path}: {file.error or [finding.message for finding in file.findings]}")
    assert wrong == []
    assert looked > 1000 / EVERY
