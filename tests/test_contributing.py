"""What CONTRIBUTING says about rules is so: its page is a whole rule."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.starts_processes

PAGE = re.search(r"^````\n(.*?)^````$", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), flags=re.M | re.S)
NAME = "TFM290-saving-module.md"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in ("tfmigrate", "rules", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def suite(copy: Path) -> subprocess.CompletedProcess[str]:
    """What the suite says of the page in a copy of the repository."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    return subprocess.run(
        [*command, "tests/test_rules.py", "-k", "TFM290 or every_code", "--override-ini", "addopts="],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
    )


def test_its_page_is_a_whole_rule(copy: Path) -> None:
    assert PAGE is not None
    assert NAME in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (copy / "rules" / NAME).write_text(PAGE[1], encoding="utf-8")
    done = suite(copy)
    assert done.returncode == 0, done.stdout
    assert int(re.findall(r"(\d+) passed", done.stdout)[0]) > 10


def test_a_page_that_claims_something_else_fails(copy: Path) -> None:
    assert PAGE is not None
    page = PAGE[1].replace('new = "tensorflow.keras.models"', 'new = "tensorflow.keras.saving"')
    (copy / "rules" / NAME).write_text(page, encoding="utf-8")
    assert suite(copy).returncode == 1
