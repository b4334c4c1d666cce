"""The runnable programs in fixtures/: what they are, and what verify says about them on the real TensorFlows."""

from __future__ import annotations

import ast
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tfmigrate.verify.controls import CONTROLS, mutants, program_of
from tfmigrate.verify.report import Report
from tfmigrate.verify.runtimes import Runtime
from tfmigrate.verify.verdict import VerifyOptions, verify

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2] / "fixtures"
KINDS = {"tf1.15": "genuine keras", "tf2.3": "genuine tf.keras"}


@dataclass(frozen=True)
class Program:
    """A runnable fixture, as its fixture.toml describes it."""

    name: str
    title: str
    script: str
    args: tuple[str, ...]
    gpus: int
    flavour: str
    genuine: tuple[str, ...]
    epochs: int
    steps_per_epoch: int
    notes: str

    @property
    def old(self) -> Path:
        return ROOT / self.name / "before" / self.script

    @property
    def new(self) -> Path:
        return ROOT / self.name / "after" / self.script


def load(file: Path) -> Program:
    facts = tomllib.loads(file.read_text(encoding="utf-8"))
    facts.update(args=tuple(facts["args"]), genuine=tuple(facts["genuine"]))
    return Program(name=file.parent.name, **facts)


PROGRAMS = {file.parent.name: load(file) for file in sorted(ROOT.glob("*/fixture.toml"))}
every_program = pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())


def test_the_four_programs_of_the_design_are_there() -> None:
    assert {"base_parallel", "adadelta_mlp", "guarded_generator", "convnet"} <= set(PROGRAMS)


@every_program
def test_a_program_is_whole(program: Program) -> None:
    data = (ROOT / "data" / "digits.npz").read_bytes()
    assert program.old.with_name("digits.npz").read_bytes() == data
    assert program.new.with_name("digits.npz").read_bytes() == data
    old, new = program.old.read_text(encoding="utf-8"), program.new.read_text(encoding="utf-8")
    assert re.search(r"\bmulti_gpu_model\(", old)
    assert "multi_gpu_model" not in new
    assert "MirroredStrategy" in new
    ast.parse(new)
    ast.parse(old, feature_version=(3, 7))
    assert not re.search(r'\bf"|\bf\'', old), "the old interpreters are given no f-strings"


@pytest.fixture(scope="module")
def judge(runtime_for: Callable[[str], Runtime]) -> Callable[..., Report]:
    def run(program: Program, new: Path | None = None) -> Report:
        options = VerifyOptions(
            program.old,
            new or program.new,
            args=program.args,
            old_python=runtime_for(KINDS[program.genuine[0]]).python,
            new_python=runtime_for("keras 2").python,
            seconds=600,
        )
        return verify(options)

    return run


KNOWN = {
    "base_parallel": set(),
    "adadelta_mlp": set(),
    "guarded_generator": {"validation of the last batch alone"},
    "convnet": {"batch norm statistics"},
    "uneven_split": {"remainder batch", "validation weighted by class"},
}
"""The true differences of the two systems that a program shows, by name."""


@pytest.mark.runs_tensorflow
@every_program
def test_the_right_migration_is_equivalent(program: Program, judge: Callable[..., Report]) -> None:
    report = judge(program)
    assert report.verdict == "EQUIVALENT", report.reason
    assert [pair.equivalent for pair in report.pairs] == [True] * 4, [pair.divergence for pair in report.pairs]
    assert report.max_relative_difference is not None
    assert report.max_relative_difference <= 1e-5
    assert {run.steps for run in report.runs if not run.role.startswith("control")} == {
        program.epochs * program.steps_per_epoch
    }
    assert {run.replicas for run in report.runs if not run.role.startswith("control")} == {program.gpus}
    assert {name for name, _, _ in report.known} == KNOWN[program.name]
    expected = {control.mutation.format(program.gpus): control.expected for control in CONTROLS}
    assert len(report.controls) >= 3
    for control in report.controls:
        assert control.detected
        assert control.kind in expected[control.mutation], (control.mutation, control.found)


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize(
    ("name", "mutation", "cause"),
    [
        ("adadelta_mlp", "changed default left unwritten", "adadelta learning_rate 1 -> 0.001: changed default"),
        ("base_parallel", "batch x{}", "batches of 1024 where 256 was asked for: x4"),
        ("guarded_generator", "scope missing", "the model was trained on 1 replicas where 2 were asked for"),
    ],
)
def test_the_naive_migration_is_different(
    name: str, mutation: str, cause: str, judge: Callable[..., Report], tmp_path: Path
) -> None:
    program = PROGRAMS[name]
    wanted = mutation.format(program.gpus)
    files = program_of(program.new.parent, program.script)
    (naive,) = [m for m in mutants(files, program.script, program.gpus, 3) if m.mutation == wanted]
    shutil.copytree(program.new.parent, tmp_path / "naive")
    new = tmp_path / "naive" / program.script
    new.write_text(naive.files[program.script], encoding="utf-8")
    report = judge(program, new)
    assert (report.verdict, report.exit_code) == ("DIFFERENT", 1), report.reason
    assert cause in report.reason
    assert report.to_json()["loss"]["first_divergence"]["cause"].startswith(cause)
