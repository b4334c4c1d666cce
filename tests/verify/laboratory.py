"""Simulated runs in the place of TensorFlow, for all that verify decides."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tfmigrate.verify.judge import controls
from tfmigrate.verify.judge.controls import Mutant
from tfmigrate.verify.judge.plan import VerifyOptions
from tfmigrate.verify.judge.report import Report
from tfmigrate.verify.judge.verdict import verify
from tfmigrate.verify.judge.written import verify_as_written
from tfmigrate.verify.run import runtimes
from tfmigrate.verify.run.outcome import hint
from tfmigrate.verify.run.runtimes import Runtime
from tfmigrate.verify.run.trace import Cut, End, Trace
from tfmigrate.verify.run.world import Done, Initial, Limits, Run, World

from .simulated import Predicting, Training, migrated, predict, train_each

OLD_SCRIPT = """import keras
from keras.utils import multi_gpu_model
model = multi_gpu_model(build(), gpus=2)
"""
NEW_SCRIPT = """import tensorflow as tf
strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = build()
    model.compile(optimizer="adam", loss="mse")
data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x)).batch(64)
model.fit(data, epochs=3)
"""
LEGACY = Runtime(Path("/legacy/python"), (3, 7, 16), "1.15.0", "2.3.1")
MODERN = Runtime(Path("/modern/python"), (3, 12, 3), "2.21.0", "3.15.1", "2.21.0")
OLD = Training(replicas=2)

WRONG = {
    "batch x2": replace(migrated(OLD), batch_size=128),
    "learning rate x2": replace(migrated(OLD), learning_rate=1.0),
    "shuffle lost": replace(migrated(OLD), shuffle="none"),
    "scope missing": replace(migrated(OLD), replicas=1),
    "loss that takes the mean itself": replace(migrated(OLD), gradient_scale=2.0),
    "loss / 2": replace(migrated(OLD), gradient_scale=0.5),
    "another loss": replace(migrated(OLD), gradient_scale=1.3, loss="mae"),
    "epochs / 2": replace(migrated(OLD), epochs=2),
    "half precision": replace(migrated(OLD), dtypes=("bfloat16",)),
    "compile outside the scope": "RuntimeError: Mixing different tf.distribute.Strategy objects (train.py:5)",
}


@dataclass(frozen=True)
class Dying:
    """A script that dies of an error once it has trained."""

    how: Training
    error: str


Behaviour = Callable[[World, Limits], "Training | Dying | tuple[Training, ...] | Predicting | str | BaseException"]


def usual(world: World, limits: Limits) -> Training | str:
    """What each world does when the migration is right."""
    if world.role.startswith("control: "):
        return WRONG[world.role.removeprefix("control: ")]
    return OLD if world.kind != "migrated" else migrated(OLD)


def in_world(how: Training, world: World, limits: Limits) -> Training:
    """The training as this world and these limits make it."""
    seed = 2 * world.seed + (world.kind == "migrated")
    noise = {"rounding": 1e-7} if world.aligned else {"initial_seed": seed, "noise_seed": seed}
    return replace(
        how,
        epochs=min(how.epochs, limits.epochs or how.epochs),
        asked_epochs=how.asked_epochs or how.epochs,
        shares_evenly=world.shares_evenly,
        **noise,  # type: ignore[arg-type]
    )


def cut(trace: Trace, budget: int | None) -> Trace:
    """The trace of the first training call as a budget of steps leaves it."""
    length = max((step.step for step in trace.steps), default=0) + 1
    if budget is None or budget >= len(trace.steps):
        return trace
    steps = trace.steps[: budget // length * length or budget]
    epochs = {step.epoch for step in steps}
    return replace(
        trace,
        steps=steps,
        epochs=tuple(epoch for epoch in trace.epochs if epoch.epoch in epochs),
        weights=tuple(w for w in trace.weights if w.moment != "final"),
        cut=Cut(0, trace.fits[0].epochs, length, len(steps)),
    )


making = controls.mutants


@functools.cache
def made_once(program: tuple[tuple[str, str | bytes], ...], *others: Any) -> tuple[Mutant, ...]:
    return tuple(making(dict(program), *others))


def mutants(program: Mapping[str, str | bytes], *others: Any) -> tuple[Mutant, ...]:
    """As `controls.mutants`; nearly all tests have the two scripts above."""
    return made_once(tuple(program.items()), *others)


class Laboratory:
    """Runs worlds as `behaviour` says: a Training, or the error the script dies of."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = tmp_path
        self.seen: list[tuple[World, Limits, Trace | None]] = []
        self.behaviour: Behaviour = usual
        self.runtimes: tuple[Runtime, ...] = (MODERN, LEGACY)
        self.count = itertools.count()
        self.seconds = 1.0
        """What each run takes, as it says."""
        self.changes: list[Callable[[Run], Run]] = []
        """What else is otherwise with each run, once it is over."""
        monkeypatch.setattr(controls, "mutants", mutants)
        monkeypatch.setattr(runtimes, "discover", lambda: self.runtimes)
        self.old, self.new = tmp_path / "old.py", tmp_path / "new.py"
        self.old.write_text(OLD_SCRIPT)
        self.new.write_text(NEW_SCRIPT)

    def run_all(
        self,
        worlds: Sequence[tuple[World, Initial]],
        limits: Limits,
        folders: Sequence[Path],
        jobs: int | None = None,
        done: Done | None = None,
    ) -> list[Run]:
        ended: dict[str, Run] = {}
        for (world, start), folder in zip(worlds, folders):
            initial = ended[start.role].trace if isinstance(start, World) else start
            ended[world.role] = self.run(world, limits, initial, folder)
            if done is not None:
                done(ended[world.role])
        return list(ended.values())

    def run(self, world: World, limits: Limits, initial: Trace | None, folder: Path) -> Run:
        self.seen.append((world, limits, initial))
        what = self.behaviour(world, limits)
        if isinstance(what, BaseException):
            raise what
        place = self.folder / f"run {next(self.count)}"

        def ended(trace: Trace, outcome: str, printed: str = "Epoch 1/3\n", code: int = 0, message: str = "") -> Run:
            paths = place / "stdout.txt", place / "stderr.txt"
            paths[0].write_text(printed)
            run = Run(world, trace, outcome, code, *paths, self.seconds, message)  # type: ignore[arg-type]
            return functools.reduce(lambda run, change: change(run), self.changes, run)

        if isinstance(what, Predicting):
            return ended(predict(place, replace(what, rounding=what.rounding or 3e-7)), "predicted", "image 0: a 7\n")
        if isinstance(what, Dying):
            recorded = train_each(place, [in_world(what.how, world, limits)])
            if limits.exactly is not None:
                return ended(cut(recorded, limits.exactly), "trained")
            message = f"{world.role}: {world.script} crashed: {what.error}"
            end = End(False, what.error, 1.0, 0.0, None, None)
            return ended(replace(recorded, end=end), "crashed", code=1, message=message)
        if not isinstance(what, str):
            each = what if isinstance(what, tuple) else (what,)
            recorded = train_each(place, [in_world(how, world, limits) for how in each])
            return ended(cut(recorded, limits.budget), "trained")
        place.mkdir()
        outcome = "timed out" if what == "no more time" else "trained nothing" if "never" in what else "crashed"
        end = End(False, what, 1.0, 0.0, None, None) if outcome == "crashed" else None
        message = f"{world.role}: {world.script} crashed: {what}{hint(what, world)}"
        return ended(Trace(place, end=end), outcome, "", 1, message)

    def verify(self, **options: object) -> Report:
        """One run after the other, on a machine with any number of processors."""
        options = {"jobs": 1, **options}
        return verify(VerifyOptions(self.old, self.new, **options), execute=self.run_all)  # type: ignore[arg-type]

    def finds(self, verdict: str, behaviour: Behaviour | None = None, **options: object) -> Report:
        """The report of what is verified where all behaves so, or as before; its verdict is this one."""
        self.behaviour = behaviour or self.behaviour
        report = self.verify(**options)
        assert report.verdict == verdict, report.reason
        return report

    def verify_as_written(self, pairs: int, **options: object) -> Report:
        return verify_as_written(VerifyOptions(self.old, self.new, **options), pairs, execute=self.run_all)  # type: ignore[arg-type]

    def finds_as_written(self, verdict: str, pairs: int, behaviour: Behaviour | None = None) -> Report:
        """As `finds`, of a comparison as written."""
        self.behaviour = behaviour or self.behaviour
        report = self.verify_as_written(pairs)
        assert report.verdict == verdict, report.reason
        return report

    @property
    def roles(self) -> list[str]:
        return [world.role for world, _, _ in self.seen]


def broken(**parts: str | Training) -> Behaviour:
    """As usual, but for the worlds whose role begins with a key (underscores are spaces)."""

    def behave(world: World, limits: Limits) -> Training | str:
        for start, what in parts.items():
            if world.role.startswith(start.replace("_", " ")):
                return what
        return usual(world, limits)

    return behave


def training(old: Training, new: Training) -> Behaviour:
    """As `scripts`; a wrong migration differs from the new one as it differs from the usual one."""

    def behave(world: World, limits: Limits) -> Training | str:
        if not world.role.startswith("control: "):
            return new if world.kind == "migrated" else old
        wrong = usual(world, limits)
        if isinstance(wrong, str):
            return wrong
        changed = {name: value for name, value in vars(wrong).items() if value != getattr(migrated(OLD), name)}
        return replace(new, **changed)

    return behave


def scripts(old: Training | Predicting, new: Training | Predicting | str) -> Behaviour:
    """The old script does the same in each of its worlds, and the new one, right or wrong, in its own."""
    return lambda world, limits: new if world.kind == "migrated" else old
