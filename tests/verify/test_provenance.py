"""Where a report comes from."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from datetime import datetime, timezone

import psutil
import pytest

from tfmigrate.cli.verify import _command_line
from tfmigrate.verify.judge import provenance
from tfmigrate.verify.judge.provenance import Provenance
from tfmigrate.verify.judge.report import Report
from tfmigrate.verify.judge.stopping import OutOfTime
from tfmigrate.verify.judge.summaries import summarize
from tfmigrate.verify.judge.verdict import VerifyOptions, verify
from tfmigrate.verify.run import devices
from tfmigrate.verify.run.trace import End

from .laboratory import OLD, Laboratory, broken
from .simulated import train


@pytest.fixture
def lab(lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> Laboratory:
    monkeypatch.setattr(devices, "gpus", lambda: ("NVIDIA A100, 40960 MiB",))
    return lab


def known(report: Report) -> Provenance:
    assert report.provenance is not None
    return report.provenance


def test_a_report_says_where_it_comes_from(lab: Laboratory) -> None:
    told = known(lab.verify(version="1.2.3", command=("tfmigrate", "verify", "old.py"), time_limit=60.0, seconds=5.0))
    assert (told.version, told.command) == ("1.2.3", ("tfmigrate", "verify", "old.py"))
    began = datetime.fromisoformat(told.date)
    assert abs((datetime.now(timezone.utc) - began).total_seconds()) < 60
    assert told.machine.cores == os.cpu_count()
    assert told.machine.memory_bytes == psutil.virtual_memory().total
    assert told.machine.gpus == ("NVIDIA A100, 40960 MiB",)
    assert told.limits["seconds"] == 5.0
    assert told.limits["time_limit"] == 60.0
    assert {"memory_bytes", "disk_bytes", "processes", "budget", "depth"} <= told.limits.keys()


def test_both_scripts_are_known_by_their_hashes_and_their_difference(lab: Laboratory) -> None:
    (lab.old.parent / "helper.py").write_text("SIZE = 64\n")
    lab.old.write_text("import helper\n" + lab.old.read_text())
    lab.new.write_text("import helper\n" + lab.new.read_text())
    told = known(lab.verify())
    assert list(told.old) == ["old.py", "helper.py"]
    assert list(told.new) == ["new.py", "helper.py"]
    assert told.new["new.py"] == hashlib.sha256(lab.new.read_bytes()).hexdigest()
    lines = told.diff.splitlines()
    assert lines[:2] == ["--- old/old.py", "+++ new/new.py"]
    assert "-from keras.utils import multi_gpu_model" in lines
    assert "+strategy = tf.distribute.MirroredStrategy()" in lines
    assert not any("helper.py" in line for line in lines), "it is the same"


def test_a_long_difference_is_cut(lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "LONGEST_DIFF", 5)
    lines = known(lab.verify()).diff.splitlines()
    assert lines[5:] == ["[only the first 5 lines are shown]"]


def test_modules_of_two_trees_are_told_apart_by_their_paths(lab: Laboratory) -> None:
    trees = [lab.folder / name for name in ("before", "after")]
    for tree, script in zip(trees, (lab.old, lab.new)):
        (tree / "lib").mkdir(parents=True)
        (tree / "train.py").write_text("import lib.size\n" + script.read_text())
        (tree / "lib" / "__init__.py").write_text("")
        (tree / "lib" / "size.py").write_text(f"SIZE = {len(str(tree))}\n")
    told = known(
        verify(VerifyOptions(trees[0] / "train.py", trees[1] / "train.py", depth="smoke"), execute=lab.run_all)
    )
    assert set(told.old) == {"train.py", "lib/__init__.py", "lib/size.py"}
    assert "--- old/lib/size.py" in told.diff


def test_it_is_in_report_json_also_of_a_run_that_was_cut_short(lab: Laboratory) -> None:
    seen: list[Report] = []
    lab.behaviour = broken(migrated_on_Keras_3=OutOfTime("the time limit of 5 seconds"))  # type: ignore[arg-type]
    report = verify(VerifyOptions(lab.old, lab.new), execute=lab.run_all, publish=seen.append)
    written = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert written["provenance"]["old"] == dict(known(report).old)
    assert written["headline"] == "INCONCLUSIVE (cut short by the time limit)"
    assert {one.headline for one in seen} == {"INCONCLUSIVE (not finished)"}
    assert all(one.provenance == report.provenance for one in seen)
    assert replace(report, state="interrupted").headline == "INCONCLUSIVE (cut short by Ctrl-C or a signal)"


def test_the_packages_of_each_world_are_told(lab: Laboratory) -> None:
    report = lab.verify()
    versions = {run.role: run.packages for run in report.runs}
    assert versions["genuine"] == {"numpy": "1.19.5"}
    assert versions["migrated on Keras 3"] == {"numpy": "2.3.1"}
    assert report.to_json()["runs"][0]["packages"] == {"numpy": "1.19.5"}


def test_versions_of_what_the_script_imports_are_in_its_run(lab: Laboratory) -> None:
    ended = End(True, None, 1.0, 1.0, None, None, packages={"pandas": "0.25.3"})
    trace = replace(train(lab.folder / "one", OLD), end=ended)
    assert summarize("genuine", "", trace, 1.0, "ok").packages == {"numpy": "1.19.5", "pandas": "0.25.3"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["/usr/bin/tfmigrate", "verify", "a.py"], ("tfmigrate", "verify", "a.py")),
        (["tfmigrate", "--env", "KEY=secret", "x=1"], ("tfmigrate", "--env", "KEY=...", "x=1")),
        (["tfmigrate", "--env=KEY=secret"], ("tfmigrate", "--env=KEY=...")),
        ([], ()),
    ],
)
def test_the_command_line_without_what_may_be_a_key(words: list[str], told: tuple[str, ...]) -> None:
    assert _command_line(words) == told
