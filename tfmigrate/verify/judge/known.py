"""Known differences: what two versions of TensorFlow make of one script, shown by runs made for it, and named with its
size, so that it is not taken for a fault of the migration."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from tfmigrate.verify.judge import batches
from tfmigrate.verify.judge.acting import parted_by_callback
from tfmigrate.verify.judge.align import noise, pair_steps, relative_difference, steps_of_both
from tfmigrate.verify.judge.compare import Comparison, compare
from tfmigrate.verify.judge.contract import NEEDED
from tfmigrate.verify.judge.contract_rows import Row
from tfmigrate.verify.judge.differences import REMAINDER, KnownDifference
from tfmigrate.verify.judge.lab import Lab, restored_run
from tfmigrate.verify.judge.optimizers import WRITTEN_ANEW, describe, formula, optimizer_name, pair_compiles
from tfmigrate.verify.judge.pairs import outcome, paired
from tfmigrate.verify.judge.plan import NUDGED, OLD_OPTIMIZERS, SHARED, sharing
from tfmigrate.verify.judge.report import Pair
from tfmigrate.verify.run.trace import Trace, minor
from tfmigrate.verify.run.world import Run

FORMULA = "optimizer of another Keras"
ROUNDING = "rounding that grows"
ROUNDING_SAFETY = 10.0
"""As for losses (see `align.SAFETY`): one nudge at the start stands for rounding at each step."""
DRIFT = "version drift"
DATA = "data of another TensorFlow"
OF_DATA = frozenset({"data", "batch size", "validation"})
"""Kinds of divergence that other data leads to."""
DATA_ROWS = (
    NEEDED["batches"],
    NEEDED["samples per epoch"],
    NEEDED["global batch size"],
    "steps",
    "length of an epoch",
    "validation samples",
    "validation data",
)
FROZEN = "regularizers of frozen layers"
DRIFT_BAND = 1e-3
"""How far a genuine run may drift from a new one that agrees with the restored run. TF 1.15 and 2.3 take Adam's
1 - beta_2 in float32 (1.3e-5 too small), Keras 3 in float64: 30 steps of a small network part by 4.9e-6 for that alone,
and a run of thousands by a hundred times as much. A default that changed shows from 1e-2 on."""
DRIFTING = frozenset({"unknown", "validation", "batch norm", "moving averages", "predictions"})
"""Kinds of divergence that no setting and no data explain."""
SEEN_LATE = (NEEDED["final weights"], "validation loss")
LED_TO = (NEEDED["first gradient"], *SEEN_LATE)
"""Rows of the contract that are about the data, and what follows from it."""


def has_remainder(trace: Trace) -> bool:
    """A batch of this old run could not be cut into equal parts, one a replica."""
    replicas = max((model.replicas for model in trace.models), default=1)
    return any(step.samples is not None and step.samples % replicas for step in trace.steps)


def without_remainder(lab: Lab, reference: Run) -> tuple[Run, KnownDifference | None]:
    """The old run in which remainder batches are shared as MirroredStrategy shares them, and what that alone changes;
    the old run as it was where there is no remainder, or where it could not be shared so."""
    run = lab.runs.get(reference.world.role + SHARED)
    if run is None or not run.ok or not all(step.shared_evenly for step in run.trace.steps):
        return reference, None
    pairs = [pair for pair in pair_steps(reference.trace, run.trace) if pair.uneven]
    first = pairs[0]
    what = (
        f"the batch at epoch {first.epoch}, step {first.step} cannot be divided evenly among the replicas: "
        "multi_gpu_model takes the mean over its samples, MirroredStrategy the mean of the replicas' means. The old "
        "script ran once more with such batches split as MirroredStrategy splits them, and the new one is compared "
        "with that run: the losses of all other steps, and the final weights. This alone moves the old loss by up to"
    )
    return run, KnownDifference(REMAINDER, what, noise(reference.trace, run.trace))


def knowing(known: KnownDifference, pair: Pair) -> Pair:
    if pair.comparison is None:
        return pair
    return replace(pair, comparison=replace(pair.comparison, known=(known, *pair.comparison.known)))


def but_for_rounding(lab: Lab, start: Run, pair: Pair, old: Run, new: Run) -> Pair:
    """The pair with what rounding makes of it known by name and size.

    RMSprop and Adam take steps of one size, so that where a gradient is next to nothing, its last digits say which way
    a weight goes. The losses of the training hardly feel it, those of the validation may. Only where every loss of the
    training agrees, and by an experiment: the old script runs once more from weights moved by one unit in their last
    place; what it then ends with may be a tenth as far off.
    """
    comparison = pair.comparison
    if comparison is None or pair.kind not in DRIFTING or new.outcome == "crashed":
        return pair
    late = [row for row in comparison.broken if row.what.startswith(SEEN_LATE)]
    if not comparison.losses_agree or not late or len(late) < len(comparison.broken):
        return pair
    world = replace(old.world, role=old.world.role + NUDGED, nudged=True)
    run = lab.runs.get(world.role) or lab.run(world, start=start)[0]
    if not run.ok:
        return pair
    alone = compare(old.trace, run.trace, comparison.tolerance)
    sizes = [(distance(row), distance(other)) for row in late for other in alone.contract if other.what == row.what]
    if len(sizes) < len(late) or any(size > ROUNDING_SAFETY * own for size, own in sizes):
        return pair
    what = (
        "every loss of the training agrees; if a gradient is almost zero, its last digits decide which way the "
        "optimizer moves a weight. Confirmed by a run: started from weights changed by one unit in the last place, "
        "the old script ends up as far from itself. Relative difference of weights or validation losses"
    )
    known = KnownDifference(ROUNDING, what, max(size for size, _ in sizes))
    return pair.explained_by(known, late)


def distance(row: Row) -> float:
    """How far the two figures of a row of the contract lie apart: weights are given as their distance, losses each."""
    if row.what == "validation loss":
        both = isinstance(row.old, float) and isinstance(row.new, float)
        return relative_difference(row.old, row.new) if both else math.inf
    return float(row.new)


def but_for_frozen(pair: Pair, genuine: Run, new: Run, restored: Run | None, band: float) -> Pair:
    """The pair with the regularizers of frozen layers known by name: Keras 3 adds them to no loss
    (Layer._get_regularization_losses goes over trainable weights, 3.15), Keras 2 and older do. What a weight that does
    not move adds is a constant of the training call and has no gradient, so once it is taken off, all must agree."""
    if pair.divergence is None or pair.comparison is None:
        return pair
    constants = frozen_penalties(genuine.trace, new.trace, pair.comparison)
    if not constants:
        return pair
    without = replace(genuine, trace=_without_penalties(genuine.trace, constants))
    repaired = but_for_drift(paired(without, new, band, decides=pair.decides, restored=restored), without, new)
    if repaired.divergence is not None or repaired.comparison is None:
        return pair
    what = (
        "Keras 3 leaves the regularizers of frozen layers out of the loss that it reports, Keras 2 and older add "
        "them. Such a penalty is the same at every step and moves no weight; it was subtracted from the old losses "
        "before the comparison. Largest penalty"
    )
    known = KnownDifference(FROZEN, what, max(constants.values()))
    return replace(repaired, comparison=replace(repaired.comparison, known=(*repaired.comparison.known, known)))


def frozen_penalties(old: Trace, new: Trace, comparison: Comparison) -> Mapping[int, float]:
    """By training call, what the old losses have on top of those of Keras 3 at every step; none where there is no
    regularizer, where the systems are others, or where the distance is no constant."""
    if old.start is None or new.start is None or minor(old.start.keras) >= (3,) or minor(new.start.keras) < (3,):
        return {}
    if not any(not words.startswith("activity ") for model in old.models for words in model.regularizers):
        return {}
    penalties: dict[int, list[float]] = {}
    for step in comparison.judged_steps:
        penalties.setdefault(step.fit, []).append(step.old - step.new)
    middles = {fit: sorted(apart)[len(apart) // 2] for fit, apart in penalties.items()}
    largest = max((abs(step.old) for step in comparison.judged_steps), default=0.0)
    return {fit: size for fit, size in middles.items() if size > comparison.tolerance * largest}


def _without_penalties(trace: Trace, constants: Mapping[int, float]) -> Trace:
    def lower(logs: Mapping[str, float], by: float) -> Mapping[str, float]:
        return {key: value - by if key in ("loss", "val_loss") else value for key, value in logs.items()}

    return replace(
        trace,
        steps=tuple(replace(step, loss=step.loss - constants.get(step.fit, 0.0)) for step in trace.steps),
        epochs=tuple(replace(epoch, logs=lower(epoch.logs, constants.get(epoch.fit, 0.0))) for epoch in trace.epochs),
    )


def of_data(pair: Pair) -> bool:
    """Whether a pair differs in a way that other data leads to."""
    return pair.kind in OF_DATA


def but_for_data(pair: Pair, today: Pair, genuine: Run, restored: Run, new: Run, band: float) -> Pair:
    """The pair with what old libraries make of the data by themselves known by name and size: pictures that the
    ImageDataGenerator of 2.3 shifts or turns from the same draws, other decoders, the streams of np.random.Generator,
    what pandas reads. Only where the old script restored today parts from the genuine run in the same things: the
    verdict then follows from `today`, the restored run against the new one. Where these agree in all, no difference is
    the new script's doing, if all that the genuine run and the new one were asked for is the same too; where they do
    not, they show the cause."""
    comparison = pair.comparison
    if not of_data(pair) or comparison is None or new.outcome == "crashed":
        return pair
    if parted_by_callback(genuine.trace, new.trace, band) is not None:
        return pair
    versions = {row.what for row in compare(genuine.trace, restored.trace, band).broken}
    if not any(what.startswith(DATA_ROWS) for what in versions) or batches.changed_later(genuine.trace, restored.trace):
        return pair
    if today.divergence is not None:
        return replace(pair, divergence=today.divergence)
    excusable = {what for what in versions if what.startswith(DATA_ROWS)}
    broken = [row.what for row in comparison.broken]
    if not today.equivalent or not all(what in excusable or what.startswith(LED_TO) for what in broken):
        return pair
    what = (
        f"{_libraries(genuine)} produce different data than today's for the same old "
        f"script{_apart(genuine, restored)}; restored on today's TensorFlow, the old script has the new one's data "
        "and agrees with it in everything. So the verdict follows from that run; the genuine one only judges the "
        "settings. Relative loss difference"
    )
    known = KnownDifference(DATA, what, comparison.max_relative_difference)
    return pair.explained_by(known, comparison.broken, excused="" if comparison.losses_agree else DATA)


def _libraries(run: Run) -> str:
    start = run.trace.start
    if start is None:
        return "The old libraries"
    beside = f" and the libraries beside it (NumPy {start.numpy})" if start.numpy else ""
    return f"TensorFlow {start.tensorflow}{beside}"


def _apart(genuine: Run, restored: Run) -> str:
    """By how much the values of the data differ, where they can be held against each other."""
    old, new = genuine.trace, restored.trace
    sizes = (batches.distance(old, new, a, b) for a, b in steps_of_both(old, new))
    largest = max((size for size in sizes if size is not None), default=math.inf)
    return f", values up to {largest:.2g} of their size apart" if math.isfinite(largest) else ""


def but_for_drift(pair: Pair, genuine: Run, new: Run) -> Pair:
    """The pair with what its versions' arithmetic makes of it known by name. Only for a new script that agrees, within
    the narrow band, with the old one restored on the same TensorFlow: then the migration itself is exact."""
    if pair.kind not in DRIFTING:
        return pair
    comparison = compare(genuine.trace, new.trace, DRIFT_BAND)
    # Adam and RMSprop move a weight without gradient by rounding noise, so weights drift far where losses hardly do;
    # that the final weights are right, the restored run has shown.
    drifted = tuple(row for row in comparison.broken if row.what.startswith(NEEDED["final weights"]))
    if not comparison.losses_agree or len(drifted) != len(comparison.broken):
        return pair
    adam = any("adam" in compiled.optimizer.lower() for compiled in new.trace.compiles)
    what = (
        "the script restored on today's TensorFlow agrees with the new one, but on its own TensorFlow it drifts "
        "away slowly"
    )
    what += "; Adam's steps are 6.4e-6 longer there, where 1 - beta_2 is rounded" if adam else ""
    for changed in dict.fromkeys(
        (optimizer_name(a), formula(a, b)) for a, b in pair_compiles(genuine.trace, new.trace)
    ):
        what += f"; {changed[0]}{changed[1]}" if changed[1] else ""
    of = "difference of the predictions" if comparison.predictions else "loss difference"
    drift = KnownDifference(DRIFT, f"{what}. Relative {of}", comparison.max_relative_difference)
    return replace(pair, comparison=comparison.explained_by(drift, drifted), divergence=None)


def drifts(pair: Pair) -> bool:
    excuses = (DRIFT, FORMULA, FROZEN, DATA)
    return pair.comparison is not None and any(known.name in excuses for known in pair.comparison.known)


def but_for_optimizers(lab: Lab, start: Run, genuine: Run, pairs: tuple[Pair, ...], band: float) -> tuple[Pair, ...]:
    """The pairs with what the optimizers of another Keras make of the training known by name, and its size.

    Not by the optimizer's name, but by an experiment, made only where a new script trains as the restored one does and
    not as the genuine one: the old script runs restored once more, on Keras 2 with the optimizers of its time, which
    that package still has. If it then trains as the genuine run did, the optimizers alone make the difference.
    """
    if genuine.world.kind != "genuine":
        return pairs
    doubtful = [pair for pair in pairs if pair.decides and pair.divergence]
    agree = {pair.new for pair in pairs if not pair.decides and pair.equivalent}
    today = restored_run(lab, 2) if 2 in lab.plan.modern else None
    if today is None or not today.world.legacy_keras or not any(pair.new in agree for pair in doubtful):
        return pairs
    role = today.world.role.removesuffix(SHARED) + OLD_OPTIMIZERS
    world = replace(today.world, role=role, shares_evenly=False, old_optimizers=True)
    (run,) = lab.run(sharing(world) if genuine.world.shares_evenly else world, start=start)
    shown = run.ok and but_for_drift(paired(genuine, run, band, decides=False), genuine, run).divergence is None
    if not shown:
        return pairs
    return tuple(
        _of_optimizer(pair, genuine, lab.runs[pair.new])
        if pair in doubtful and pair.new in agree and _same_but_for_optimizers(lab, today, pair.new, band)
        else pair
        for pair in pairs
    )


def _same_but_for_optimizers(lab: Lab, today: Run, new: str, band: float) -> bool:
    """Whether what was shown on Keras 2 holds for the Keras of this run: restored on both, the old script trains the
    same, or parts at a step of an optimizer that these two write differently."""
    restored = restored_run(lab, 2 if lab.runs[new].world.legacy_keras else 3)
    if restored is None or restored is today:
        return restored is today
    _, divergence = outcome(today, restored, band)
    names = {optimizer_name(compiled) for compiled in restored.trace.compiles}
    return divergence is None or (divergence.kind in DRIFTING and bool(names & WRITTEN_ANEW))


def _of_optimizer(pair: Pair, genuine: Run, new: Run) -> Pair:
    assert pair.comparison is not None
    differences = dict.fromkeys(
        f"{describe(a)} of TensorFlow {genuine.trace.start.tensorflow if genuine.trace.start else '?'} and "
        f"{describe(b)} of today's take different steps{formula(a, b)}"
        for a, b in pair_compiles(genuine.trace, new.trace)
    )
    what = (
        f"{'; '.join(differences)}. Confirmed by a run: restored on today's TensorFlow with the optimizers of its "
        "time, the old script trains as it did; with today's, it trains like the new one. So the difference comes "
        "from the versions of Keras, not from the migration; you decide whether today's optimizer is acceptable. "
        "Relative loss difference"
    )
    known = KnownDifference(FORMULA, what, pair.comparison.max_relative_difference)
    return pair.explained_by(known, pair.comparison.broken, excused=FORMULA)
