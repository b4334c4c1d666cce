"""The comparison as written on the real TensorFlows: a program that is never the same twice."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import RuntimeFor
from tfmigrate.verify.judge.plan import VerifyOptions
from tfmigrate.verify.judge.report import Report
from tfmigrate.verify.judge.written import verify_as_written
from tfmigrate.verify.run.launch import Launch

from .once import Once

HERE = Path(__file__).parent
DIGITS = HERE.parents[1] / "fixtures" / "data" / "digits.npz"
PAIRS = 12


@pytest.fixture(scope="module")
def judge(
    runtime_for: RuntimeFor, tmp_path_factory: pytest.TempPathFactory, launch: Launch
) -> Callable[[str, int], Report]:
    program = tmp_path_factory.mktemp("augmented")
    for name in ("old", "new"):
        shutil.copytree(HERE / "augmented" / name, program / name)
        shutil.copy(DIGITS, program / name)
    shutil.copytree(program / "new", program / "faster")
    script = program / "faster" / "train.py"
    text = script.read_text(encoding="utf-8")
    script.write_text(text.replace("learning_rate=0.2", "learning_rate=0.2 * 1.5"), encoding="utf-8")
    assert script.read_text(encoding="utf-8") != text
    once = Once(program / "runs", launch)
    pythons: dict[str, Any] = {
        "old_python": runtime_for("genuine keras").python,
        "new_python": runtime_for("keras 3").python,
    }

    def run(name: str, pairs: int) -> Report:
        options = VerifyOptions(program / "old/train.py", program / name / "train.py", seconds=600, **pythons)
        return verify_as_written(options, pairs, execute=once)

    return run


@pytest.mark.runs_tensorflow
def test_dropout_and_augmentation_are_equivalent(judge: Callable[[str, int], Report]) -> None:
    report = judge("new", PAIRS)
    assert report.verdict == "EQUIVALENT", report.reason
    assert report.written is not None
    losses = report.written.old_losses.values()
    assert all(len(set(values)) == len(report.written.seeds) for values in losses), "no two seeds train alike"
    assert all(row.same for row in report.written.contract), report.written.contract
    assert "Dropout 0.3" in {row.old for row in report.written.contract}


@pytest.mark.runs_tensorflow
def test_half_again_the_learning_rate_is_different(judge: Callable[[str, int], Report]) -> None:
    report = judge("faster", PAIRS)
    assert report.verdict == "DIFFERENT", report.reason
    assert "more than the margin" in report.reason, "the losses alone show it"
    assert "learning_rate 0.2 -> 0.3" in report.reason
    assert report.written is not None
    assert len(report.written.seeds) < PAIRS, "and early"


@pytest.mark.runs_tensorflow
def test_too_few_seeds_are_inconclusive(judge: Callable[[str, int], Report]) -> None:
    assert judge("new", 4).verdict == "INCONCLUSIVE"
