"""The runnable programs in fixtures/: what they are, and what verify says about them on the real TensorFlows."""

from __future__ import annotations

import ast
import re
import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest

from tests.conftest import RuntimeFor
from tfmigrate import migrate
from tfmigrate.settings import Settings
from tfmigrate.verify.judge import cause
from tfmigrate.verify.judge.align import tolerance
from tfmigrate.verify.judge.compare import compare
from tfmigrate.verify.judge.controls import CONTROLS, PREDICTION_CONTROLS, mutants
from tfmigrate.verify.judge.plan import VerifyOptions
from tfmigrate.verify.judge.report import Report
from tfmigrate.verify.judge.verdict import verify
from tfmigrate.verify.run.experiment import run
from tfmigrate.verify.run.launch import Launch
from tfmigrate.verify.run.program import program_of
from tfmigrate.verify.run.runtimes import Runtime
from tfmigrate.verify.run.side_by_side import run_all
from tfmigrate.verify.run.world import Kind, Limits, World

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2] / "fixtures"
LIMITS = Limits(seconds=600)
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
    notes: str
    shape: str
    """The shapes of real code that it stands for, in the words of fixtures/README.md."""
    epochs: int = 0
    steps_per_epoch: int = 0
    rows: int = 0
    """Predicted, by a program that trains nothing."""
    known: tuple[str, ...] = ()
    """The true differences of the two systems that it shows, by name."""
    models: int = 1
    """Trained one by one, each for these epochs."""
    against: tuple[str, ...] = ("genuine", "restored")
    """What the migrated program is compared with; not `restored` where today's Keras 3 itself trains otherwise."""
    untrained: str = ""
    """Why its training is not compared, where it is not."""
    full: bool = False
    """Judged by all of verify, with restored runs and wrong migrations; the others by the deciding runs alone."""

    @property
    def old(self) -> Path:
        return ROOT / self.name / "before" / self.script

    @property
    def new(self) -> Path:
        return ROOT / self.name / "after" / self.script


def load(file: Path) -> Program:
    facts = tomllib.loads(file.read_text(encoding="utf-8"))
    facts.update({key: tuple(value) for key, value in facts.items() if isinstance(value, list)})
    return Program(name=file.parent.name, **facts)


PROGRAMS = {file.parent.name: load(file) for file in sorted(ROOT.glob("*/fixture.toml"))}


def each(programs: Iterable[Program]) -> pytest.MarkDecorator:
    chosen = list(programs)
    return pytest.mark.parametrize("program", chosen, ids=[program.name for program in chosen])


every_program = each(PROGRAMS.values())


def test_the_four_programs_of_the_design_are_there() -> None:
    assert {"base_parallel", "adadelta_mlp", "guarded_generator", "convnet"} <= set(PROGRAMS)


@every_program
def test_a_program_is_whole(program: Program) -> None:
    data = (ROOT / "data" / "digits.npz").read_bytes()
    assert program.old.with_name("digits.npz").read_bytes() == data
    assert program.new.with_name("digits.npz").read_bytes() == data
    old, new = sources(program.old.parent), sources(program.new.parent)
    assert any(re.search(r"(?<!def )multi_gpu_model\(", text) for text in old.values())
    assert not any(re.search(r"(?<!def )multi_gpu_model\(", text) for text in new.values())
    assert any("MirroredStrategy" in text for text in new.values())
    for text in old.values():
        ast.parse(text, feature_version=(3, 7))
        assert not re.search(r'\bf"|\bf\'', text), "the old interpreters are given no f-strings"


@every_program
def test_after_is_what_the_tool_writes(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "program"
    shutil.copytree(program.old.parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(copy)
    migrate.fix(["."], Settings(jobs=1))
    assert sources(copy) == sources(program.new.parent)


def sources(folder: Path) -> dict[str, str]:
    return {str(file.relative_to(folder)): file.read_text(encoding="utf-8") for file in sorted(folder.rglob("*.py"))}


@pytest.fixture
def judge(runtime_for: RuntimeFor, launch: Launch) -> Callable[..., Report]:
    def run(program: Program, new: Path | None = None) -> Report:
        options = VerifyOptions(
            program.old,
            new or program.new,
            args=program.args,
            old_python=runtime_for(KINDS[program.genuine[0]]).python,
            new_python=runtime_for("keras 2").python,
            seconds=600,
        )
        return verify(options, execute=partial(run_all, launch=launch))

    return run


@pytest.mark.runs_tensorflow
@each(program for program in PROGRAMS.values() if program.full)
def test_the_right_migration_is_equivalent(program: Program, judge: Callable[..., Report]) -> None:
    report = judge(program)
    assert report.verdict == "EQUIVALENT", report.reason
    assert [pair.equivalent for pair in report.pairs] == [True] * 4, [pair.divergence for pair in report.pairs]
    assert report.max_relative_difference is not None
    assert report.max_relative_difference <= 1e-5
    assert {run.steps for run in report.runs if not run.role.startswith("control")} == {
        program.models * program.epochs * program.steps_per_epoch
    }
    assert {run.rows_predicted for run in report.runs if not run.role.startswith("control")} == {program.rows}
    assert {run.replicas for run in report.runs if not run.role.startswith("control")} == {program.gpus}
    assert {name for name, _, _ in report.known} == set(program.known)
    chosen = PREDICTION_CONTROLS if program.rows else CONTROLS
    expected = {control.mutation.format(program.gpus): control.expected for control in chosen}
    assert len(report.controls) >= 3
    for control in report.controls:
        assert control.detected
        assert control.kind in expected[control.mutation], (control.mutation, control.found)


@pytest.mark.runs_tensorflow
@each(program for program in PROGRAMS.values() if not program.full and not program.untrained)
def test_a_shape_trains_as_before(program: Program, runtime_for: RuntimeFor, launch: Launch, tmp_path: Path) -> None:
    standalone = program.flavour == "keras"

    def world(kind: Kind, python: Runtime, keras: int = 0) -> World:
        script = program.new if kind == "migrated" else program.old
        place = (script.parent, script.name, program.args, program.gpus)
        return World(f"{kind} {keras}", kind, python, *place, legacy_keras=keras == 2, standalone=standalone)

    old = run(world("genuine", runtime_for(KINDS[program.genuine[0]])), LIMITS, tmp_path / "old", launch=launch)
    assert old.ok, old.message
    assert len(old.trace.steps) == program.models * program.epochs * program.steps_per_epoch
    assert {model.replicas for model in old.trace.models} == {program.gpus}
    modern = runtime_for("keras 2")
    kinds: tuple[Kind, ...] = ("migrated", "restored")
    worlds = [world(kind, modern, keras) for keras in (3, 2) for kind in kinds]
    folders = [tmp_path / one.role for one in worlds]
    runs = run_all([(one, old.trace) for one in worlds], LIMITS, folders, jobs=1, launch=launch)
    for new, restored in zip(runs[::2], runs[1::2]):
        assert new.ok, new.message
        assert restored.ok, restored.message
        for first in (old, restored) if "restored" in program.against else (old,):
            found = compare(first.trace, new.trace, tolerance(0.0, len(old.trace.steps)))
            assert found.equivalent, (first.world.role, new.world.role, cause.find(first.trace, new.trace, found))
            assert found.max_relative_difference <= 1e-5
            assert {known.name for known in found.known} == set(program.known if first is old else ())


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize(
    ("name", "mutation", "told"),
    [
        ("adadelta_mlp", "changed default left unwritten", "adadelta learning_rate 1 -> 0.001: changed default"),
        ("base_parallel", "batch x{}", "batches of 1024 where 256 was asked for: x4"),
        ("guarded_generator", "scope missing", "the model was trained on 1 replica instead of 2"),
    ],
)
def test_the_naive_migration_is_different(
    name: str, mutation: str, told: str, judge: Callable[..., Report], tmp_path: Path
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
    assert told in report.reason
    assert report.to_json()["loss"]["first_divergence"]["cause"].startswith(told)


WRONG_PREDICTIONS = {
    ("self.model.predict(images, batch_size=64)", "self.model.predict_on_batch(images)"): (
        "150 rows became 300: x2 (predict_on_batch of Keras 3 returns one result per replica), first in call 0"
    ),
    ("load_weights(WEIGHTS)", "load_weights(WEIGHTS), self.model.set_weights(network().get_weights())"): (
        "initial weights differ: "
    ),
    ("self.model.load_weights(WEIGHTS)", "pass"): "the old model got its weights from a file, the new one did not",
    ("images.reshape(", "images[:1796].reshape("): "147 rows became 146, first in call 11",
    ("images.reshape(", "images[::-1].reshape("): "the inputs are not the same, first in call 0",
    ("/ 16.0", "/ 255.0"): "the inputs are not the same, first in call 0",
    ("padding='same'", "padding='valid'"): "the model has different weights: ",
    ("MaxPooling2D", "AveragePooling2D"): "the predictions differ by up to ",
    ("with strategy.scope():", "if True:"): "the model predicts on 1 replica instead of 2",
    ("for start in", "for start in [0] or"): "12 calls that predict became 1",
}
"""What the migrated detector says otherwise, and the cause that is told."""


@pytest.mark.runs_tensorflow
def test_predictions_that_are_not_the_same_are_told_apart(
    runtime_for: RuntimeFor, launch: Launch, tmp_path: Path
) -> None:
    program = PROGRAMS["detector_inference"]
    python = runtime_for(KINDS[program.genuine[0]])
    world = World("genuine", "genuine", python, program.old.parent, program.script, program.args, program.gpus)
    old = run(world, LIMITS, tmp_path / "old", launch=launch)
    assert old.ok, old.message
    assert old.outcome == "predicted"
    files = {path.name: path.read_text(encoding="utf-8") for path in program.new.parent.glob("*.py")}
    worlds = []
    for before, after in WRONG_PREDICTIONS:
        overlay = {name: text.replace(before, after) for name, text in files.items() if before in text}
        assert overlay
        new = replace(world, kind="migrated", runtime=runtime_for("keras 2"), source=program.new.parent)
        worlds.append((replace(new, role=after, overlay=overlay), old.trace))
    found = {}
    folders = [tmp_path / str(i) for i in range(len(worlds))]
    for one in run_all(worlds, LIMITS, folders, jobs=2, launch=launch):
        assert one.ok, one.message
        divergence = cause.find(old.trace, one.trace, compare(old.trace, one.trace, tolerance(0.0, 0)))
        found[one.world.role] = divergence.cause if divergence else ""
    for (_, after), told in WRONG_PREDICTIONS.items():
        assert found[after].startswith(told), (after, found[after])
