"""What CONTRIBUTING says about rules is so: its examples are whole rules."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.starts_processes

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PAGE, MODULE, PAGE_OF_MODULE = re.findall(r"^````(?:python)?\n(.*?)^````$", TEXT, flags=re.M | re.S)
RENAME = "rules/TFM290-saving-module.md"
DECIDING = "rules/TFM291-float-units.md"
DECISION = "tfmigrate/plan/keras/float_units.py"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in ("tfmigrate", "rules", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def suite(copy: Path, code: str) -> subprocess.CompletedProcess[str]:
    """What the suite says of a rule in a copy of the repository."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    return subprocess.run(
        [*command, "tests/test_rules.py", "-k", f"{code} or every_code", "--override-ini", "addopts="],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("code", "files"),
    [
        pytest.param("TFM290", {RENAME: PAGE}, id="a rename is a page"),
        pytest.param("TFM291", {DECIDING: PAGE_OF_MODULE, DECISION: MODULE}, id="a decision is a page and a module"),
    ],
)
def test_an_example_is_a_whole_rule(copy: Path, code: str, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        assert f"`{name}`" in TEXT
        (copy / name).write_text(text, encoding="utf-8")
    done = suite(copy, code)
    assert done.returncode == 0, done.stdout
    assert int(re.findall(r"(\d+) passed", done.stdout)[0]) > 10


@pytest.mark.parametrize(
    ("code", "files"),
    [
        pytest.param(
            "TFM290",
            {RENAME: PAGE.replace('new = "tensorflow.keras.models"', 'new = "tensorflow.keras.saving"')},
            id="another new name",
        ),
        pytest.param(
            "TFM291",
            {DECIDING: PAGE_OF_MODULE, DECISION: MODULE.replace("int(", "round(")},
            id="another decision",
        ),
    ],
)
def test_a_rule_that_does_something_else_than_its_page_says_fails(
    copy: Path, code: str, files: Mapping[str, str]
) -> None:
    for name, text in files.items():
        (copy / name).write_text(text, encoding="utf-8")
    assert suite(copy, code).returncode == 1
