"""Batch normalization under `train_on_batch` of Keras 3, which gives every replica the whole batch (TFM432).

multi_gpu_model took the statistics of each GPU's part, so a correct migration trains differently on Keras 3. A run
shows that this alone makes the difference: the old script once more, its batches not cut.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tfmigrate.verify.judge.causes.evidence import models_on_whole_batches
from tfmigrate.verify.judge.differences import KnownDifference
from tfmigrate.verify.judge.known import but_for_drift
from tfmigrate.verify.judge.lab import Lab
from tfmigrate.verify.judge.pairs import paired
from tfmigrate.verify.judge.plan import WHOLE
from tfmigrate.verify.judge.report import Pair
from tfmigrate.verify.run.trace import Trace
from tfmigrate.verify.run.world import Run

WHOLE_BATCHES = "batch norm over whole batches"
ON_KERAS_3 = "restored on Keras 3"


def but_for_whole_batches(
    lab: Lab,
    start: Run,
    reference: Run,
    pairs: tuple[Pair, ...],
    band: float,
    through: Callable[[Trace], Trace] = lambda trace: trace,
) -> tuple[Pair, ...]:
    """The pairs with that difference known by name and size, and beside them the pair of runs that shows it. `through`
    cuts traces where only a part of them is judged."""
    new = lab.runs.get("migrated on Keras 3")
    if new is None or not new.ok or not models_on_whole_batches(reference.trace, new.trace):
        return pairs
    doubtful = [pair for pair in pairs if pair.new == new.world.role and _may_be_explained(pair)]
    if not doubtful:
        return pairs
    world = lab.plan.world("restored", 3)
    shown_by = replace(world, role=world.role + WHOLE, whole_batches=True)
    lab.run(*(planned for planned in (world, shown_by) if planned.role not in lab.runs), start=start)
    new, restored, whole = (
        replace(run, trace=through(run.trace)) for run in (new, lab.runs[world.role], lab.runs[shown_by.role])
    )
    shown = paired(whole, new, band, decides=False)
    if not whole.ok or not shown.equivalent:
        return pairs
    # Of another version it is shown where the versions agree as long as batches are cut.
    agree = restored.ok and _agree(reference, restored, band)
    excused = [pair for pair in doubtful if agree or pair.old.startswith(ON_KERAS_3)]
    if not excused:
        return pairs
    return (*(_known(pair) if pair in excused else pair for pair in pairs), shown)


def _may_be_explained(pair: Pair) -> bool:
    return pair.divergence is not None and pair.comparison is not None


def _agree(old: Run, restored: Run, band: float) -> bool:
    return but_for_drift(paired(old, restored, band, decides=False), old, restored).divergence is None


def excuses(pair: Pair) -> bool:
    return pair.comparison is not None and pair.comparison.excused == WHOLE_BATCHES


def _known(pair: Pair) -> Pair:
    assert pair.comparison is not None
    what = (
        "train_on_batch of Keras 3 gives every replica the whole batch, so batch normalization uses the mean and "
        "variance of all its samples, where multi_gpu_model and Keras 2 use those of each replica's part (TFM432). "
        "Confirmed by a run: if the old script's batches are not split, it trains like the new one. Relative loss "
        "difference"
    )
    known = KnownDifference(WHOLE_BATCHES, what, pair.comparison.max_relative_difference)
    return pair.explained_by(known, pair.comparison.broken, excused=WHOLE_BATCHES)
