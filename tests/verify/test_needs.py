"""What a script imports in any case is asked of its interpreter before anything is run."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from tfmigrate.verify.run.needs import lacked_by, why_it_cannot_start
from tfmigrate.verify.run.runtimes import Runtime
from tfmigrate.verify.run.world import World

from .laboratory import MODERN, NEW_SCRIPT, Laboratory

ASKED = """#!/bin/sh
# An interpreter that has numpy, and nothing else beside the standard library.
shift 3
first=1
printf '['
for name; do
  [ "$name" = numpy ] && continue
  [ $first ] || printf ', '
  first=
  printf '"%s"' "$name"
done
echo ']'
"""


@pytest.fixture
def runtime(tmp_path: Path) -> Runtime:
    interpreter = tmp_path / "python"
    interpreter.write_text(ASKED)
    interpreter.chmod(interpreter.stat().st_mode | stat.S_IXUSR)
    return replace(MODERN, python=interpreter)


def world_of(runtime: Runtime, folder: Path, source: str, **files: str) -> World:
    program = folder / "program"
    program.mkdir()
    (program / "train.py").write_text(source)
    for name, text in files.items():
        (program / f"{name}.py").write_text(text)
    return World("migrated on Keras 3", "migrated", runtime, program, "train.py")


@pytest.mark.parametrize(
    ("source", "lacking"),
    [
        ("import os, numpy\nimport seaborn as sns\nfrom cv2.data import x\n", ("cv2", "seaborn")),
        ("import helper\n", ("tqdm",)),
        ("from helper import x\n", ("tqdm",)),
        ("import tensorflow, keras, numpy\n", ()),
        # What need not be reached, or is allowed to fail.
        ("try:\n    import seaborn\nexcept ImportError:\n    seaborn = None\n", ()),
        ("def plot():\n    import seaborn\n    import helper\n", ()),
        ("if plots:\n    import seaborn\n", ()),
        # Where the script says itself where modules are.
        ("import sys\nsys.path.append('lib')\nimport seaborn\n", ()),
        ("import sys\nsys.modules['seaborn'] = fake\nimport seaborn\n", ()),
        ("from sys import path\npath.append('lib')\nimport seaborn\n", ()),
        ("import os\nos.system('pip install seaborn')\nimport seaborn\n", ()),
        ("import quick\n", ()),
        ("print 'old'\n", ()),
    ],
)
def test_what_a_script_cannot_start_without(
    runtime: Runtime, tmp_path: Path, source: str, lacking: tuple[str, ...]
) -> None:
    one = world_of(runtime, tmp_path, source, helper="import tqdm\ndef f():\n    import jieba\n")
    (one.source / "quick.cpython-312-x86_64-linux-gnu.so").touch()
    assert lacked_by(one) == lacking


def test_what_is_known_only_once_it_runs_is_not_asked(runtime: Runtime, tmp_path: Path) -> None:
    one = world_of(runtime, tmp_path, "import seaborn\n")
    assert lacked_by(one) == ("seaborn",)
    assert lacked_by(replace(one, setup=tmp_path / "setup.py")) == ()
    assert lacked_by(replace(one, environment={"PYTHONPATH": "lib"})) == ()
    assert lacked_by(replace(one, stubs={"seaborn": tmp_path / "stub.py"})) == ()
    assert lacked_by(replace(one, runtime=replace(runtime, python=Path("/no/python")))) == ()


def test_the_message_says_how_to_get_it(runtime: Runtime, tmp_path: Path) -> None:
    why = why_it_cannot_start(world_of(runtime, tmp_path, "import cv2, yaml\n"))
    assert why.startswith("migrated on Keras 3: train.py imports cv2, yaml, which Python 3.12.3, TensorFlow 2.21.0")
    assert f"uv pip install --python {runtime.python} opencv-python-headless pyyaml" in why


@pytest.mark.parametrize("as_written", [False, True])
def test_nothing_is_run_where_the_new_script_cannot_start(runtime: Runtime, lab: Laboratory, as_written: bool) -> None:
    lab.runtimes = (runtime, *lab.runtimes[1:])
    lab.new.write_text(f"import seaborn\n{NEW_SCRIPT}")
    report = lab.verify_as_written(8) if as_written else lab.verify()
    assert (report.verdict, report.exit_code, lab.roles) == ("COULD NOT RUN", 2, [])
    assert "imports seaborn, which Python 3.12.3" in report.reason
