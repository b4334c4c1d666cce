"""Makes deliberately wrong migrations run, and sees whether each is detected."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tfmigrate.verify.judge import controls, whole_batches
from tfmigrate.verify.judge.compare import same_run, through_epoch
from tfmigrate.verify.judge.controls import BROUGHT_BY_NONE, Control, Mutant
from tfmigrate.verify.judge.known import drifts
from tfmigrate.verify.judge.lab import Lab, replicas_of, restored_run
from tfmigrate.verify.judge.pairs import outcome, validation_known
from tfmigrate.verify.judge.plan import WHOLE, Keras
from tfmigrate.verify.judge.report import CONTROL, ControlResult, Pair
from tfmigrate.verify.judge.stopping import OutOfTime
from tfmigrate.verify.judge.touched import LeftOut, choose, touched, why_left_out
from tfmigrate.verify.run.program import program_of
from tfmigrate.verify.run.trace import Trace
from tfmigrate.verify.run.world import Limits, Run, World

KERASES: tuple[Keras, ...] = (3, 2)
ENOUGH = 3
"""So many deliberately wrong migrations must be detected before EQUIVALENT means anything."""
LONG = 30.0
"""Seconds of a run. Where one takes longer, the default depth makes hardly more wrong migrations than enough."""


def run(
    lab: Lab, start: Run, reference: Run, pairs: tuple[Pair, ...], band: float
) -> tuple[tuple[ControlResult, ...], tuple[LeftOut, ...]]:
    """Runs one epoch of the mistakes that can be made in the new script, on Keras 3 where there is one: of all of them,
    or, at the default depth, of those that the migration could have made (fewer where a run takes long), and more until
    enough could be judged. Where the time limit comes after that, those that were judged count.

    They are held to the narrow band, and so measured against the restored run where the genuine one drifts.
    """
    deciding = {pair.new for pair in pairs if pair.decides}
    keras = next(keras for keras in KERASES if f"migrated on Keras {keras}" in deciding)
    right = lab.plan.world("migrated", keras)
    program = program_of(right.source, right.script, right.home)
    estimators = lab.plan.flavour == "estimator"
    known = controls.controls_of(predicts=bool(reference.trace.predictions), estimators=estimators)
    possible = tuple(controls.mutants(program, right.script, replicas_of(reference), keras, known))
    subjects = touched(program_of(start.world.source, start.world.script, start.world.home), program)
    bench = _Bench.of(lab, start, reference, pairs, band, right, keras)
    by_default = lab.plan.options.depth == "default"
    chosen, rest = choose(possible, subjects, ENOUGH) if by_default else (possible, ())
    if by_default and lab.runs[right.role].seconds > LONG:
        at_once = math.ceil(ENOUGH / bench.jobs) * bench.jobs
        chosen, rest = chosen[:at_once], chosen[at_once:] + rest
    results, left_out = bench.judge(chosen, ENOUGH)
    while rest and len(results) < ENOUGH:
        missing = ENOUGH - len(results)
        more, rest = rest[:missing], rest[missing:]
        judged, useless = bench.judge(more, missing)
        results, left_out = results + judged, left_out + useless
    made = {mutant.subject for mutant in possible if mutant.mutation in {result.mutation for result in results}}
    left_out += [LeftOut(mutant.mutation, why_left_out(mutant, subjects, made)) for mutant in rest]
    return tuple(results), (*left_out, *_impossible(known, possible, replicas_of(reference), keras))


def _impossible(known: Sequence[Control], possible: Sequence[Mutant], replicas: int, keras: Keras) -> list[LeftOut]:
    mutations = {mutant.mutation for mutant in possible}
    names = {control.mutation.format(replicas): control for control in known}
    return [
        LeftOut(
            name,
            "the program has no place for it" if keras in one.kerases else f"no mistake on Keras {keras}",
            possible=False,
        )
        for name, one in names.items()
        if name not in mutations
    ]


@dataclass(frozen=True)
class _Bench:
    """What wrong migrations are run and held against."""

    lab: Lab
    start: Run
    right: World
    old: Run
    restored: Run | None
    band: float
    limits: Limits
    short: bool
    """One epoch is run, and compared."""

    @classmethod
    def of(
        cls, lab: Lab, start: Run, reference: Run, pairs: tuple[Pair, ...], band: float, right: World, keras: Keras
    ) -> _Bench:
        # Where the right run was ended early, the code after the training was never reached: controls stop there too.
        whole = start.trace.cut is None and lab.runs[right.role].trace.cut is None
        short = whole and bool(reference.trace.steps) and reference.trace.steps[0].epoch == 0
        limits = replace(lab.plan.limits, epochs=1) if short else lab.plan.limits
        old, restored = reference, restored_run(lab, keras)
        if any(whole_batches.excuses(pair) for pair in pairs if pair.new == right.role):
            old = restored = lab.runs[whole_batches.ON_KERAS_3 + WHOLE]
        elif restored is not None and any(drifts(pair) for pair in pairs if pair.new == right.role):
            old = restored
        if short:
            old = replace(old, trace=through_epoch(old.trace, 1))
            restored = restored and replace(restored, trace=through_epoch(restored.trace, 1))
        return cls(lab, start, right, old, restored, band, limits, short)

    @property
    def jobs(self) -> int:
        """Nobody reads their speed, so they share the cores, and a card; not a GPU for each replica."""
        start = self.lab.runs[self.right.role].trace.start
        return (os.cpu_count() or 1) if start is not None and start.device_kind != "physical GPU" else 1

    def judge(self, mutants: Sequence[Mutant], enough: int) -> tuple[list[ControlResult], list[LeftOut]]:
        """(those that could be judged, the others and why). Raises OutOfTime where the time limit comes before `enough`
        could be."""
        worlds = [replace(self.right, role=f"{CONTROL}{m.mutation}", overlay=m.files) for m in mutants]
        late: OutOfTime | None = None
        try:
            runs = self.lab.run(*worlds, start=self.start, limits=self.limits, jobs=self.jobs)
        except OutOfTime as limit:
            late, runs = limit, self.lab.over_of(worlds)
        ended = {run.world.role: run for run in runs}
        results, left_out = [], []
        for mutant, world in zip(mutants, worlds, strict=True):
            if world.role not in ended:
                left_out.append(LeftOut(mutant.mutation, f"{late} was over"))
                continue
            control = self._one(mutant, ended[world.role])
            if isinstance(control, str):
                left_out.append(LeftOut(mutant.mutation, control, possible=False))
            else:
                results.append(control)
        if late is not None and len(results) < enough:
            raise late
        return results, left_out

    def _is_later(self, mutant: Mutant, right: Trace) -> bool:
        """Whether a mistake shows only after the steps at which the runs were ended, or that are compared."""
        if self.start.trace.cut is None and right.cut is None and self.lab.judged is None:
            return False
        return mutant.subject in ("steps", "epochs") or (mutant.subject == "validation" and not right.epochs)

    def _one(self, mutant: Mutant, ended: Run) -> ControlResult | str:
        """What became of it, or why it shows nothing."""
        new = replace(ended, trace=through_epoch(ended.trace, 1)) if self.short else ended
        comparison, divergence = outcome(self.old, new, self.band, self.restored)
        if divergence is None:
            right = self.lab.runs[self.right.role].trace
            if mutant.may_do_nothing and same_run(right, ended.trace, 1 if self.short else None):
                return "has no effect here: its run equals the right one throughout"
            if comparison and mutant.expected == {"validation"} and (known := validation_known(comparison)):
                return f"validation losses could not be judged: {known}"
            if mutant.subject in BROUGHT_BY_NONE:
                return "not visible in a program this small, and no migration introduces it"
            if self._is_later(mutant, right):
                return "only shows after the compared steps"
        # A mutant that dies of anything but the mistake made in it was not detected, it just did not run.
        detected = divergence is not None and (divergence.kind != "crash" or "crash" in mutant.expected)
        steps = comparison.common if comparison else ()
        size = comparison.max_relative_difference if comparison and steps else None
        if comparison and comparison.predictions and size == math.inf:
            size = None  # arrays of other shapes have none
        cause, kind = (divergence.cause, divergence.kind) if divergence else ("not detected", None)
        return ControlResult(mutant.mutation, size, detected, cause, kind, steps)
