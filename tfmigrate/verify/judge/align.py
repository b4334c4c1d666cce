"""The same steps, epochs and predictions of two runs side by side, and how far they lie apart."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from tfmigrate.verify.run.trace import Output, Place, Prediction, Step, Trace

FLOOR = 1e-6
"""Two float32 summation orders of one mean differ by a few units in the last place (1.2e-7) a step."""

STEPS_AT_FLOOR = 100
"""Rounding that enters at each step adds up at worst linearly; the floor holds for this many steps."""

SAFETY = 10.0
"""Old against old, with another thread count, sees one version's noise. Between versions (TF 1.15 to 2.21) 60 steps of
a small CNN differed by 2.5e-6, and 30 of a perceptron by 4.9e-6 (Adam: its 1 - beta_2 is 1.3e-5 too small in float32,
which TF 1.15 and 2.3 use for it, so that their steps are 6.4e-6 longer); wrong migrations differed by 3.7e-2 and more.
Ten floors, 1e-5, leave a factor of two on the first side and three orders of magnitude on the other."""

CEILING = 1e-4
"""A drift of 1e-3 must never pass, so the band never grows wider than this; a script whose own noise leaves it cannot
be compared step by step."""


@dataclass(frozen=True)
class StepPair:
    """One step that both runs took; epoch and step count from 0, step within its epoch."""

    fit: int
    epoch: int
    step: int
    old: float
    new: float
    difference: float
    """Relative: over the larger loss, at least 1% of the old run's largest."""
    uneven: bool
    """The batch could not be cut into equal parts, one a replica (docs/semantics.md calls it a remainder batch)."""
    shared: bool = False
    """The old run shared its batches as MirroredStrategy does. The loss that it reports of an uneven one is then a mean
    of means, as its gradient is. So are the new run's, but Keras 2 reports the mean over the samples."""


@dataclass(frozen=True)
class EpochPair:
    """One epoch's training and validation loss in both runs; None where a run logged none."""

    fit: int
    epoch: int
    old: float | None
    new: float | None
    old_validation: float | None
    new_validation: float | None


@dataclass(frozen=True)
class PredictionPair:
    """The same call of both runs, counted from 0 over all that predicted."""

    index: int
    old: Prediction
    new: Prediction
    difference: float
    """Of the values, over the largest absolute one of that array (at least 1% of the old run's largest), or of the
    sketches, over their norm; infinite where the shapes differ."""


def tolerance(noise: float, steps: int) -> float:
    """The largest relative loss difference that is still rounding, for a run of `steps` optimizer steps, or the largest
    one of predictions, for none.

    `noise` is the same figure between two runs of the old script that differ in their thread count only. The floor
    grows with the steps, because each adds rounding of its own to the weights that the next one starts from.
    """
    return min(CEILING, SAFETY * max(FLOOR * max(1.0, steps / STEPS_AT_FLOOR), noise))


def noise(first: Trace, second: Trace) -> float:
    """Largest relative difference of losses or predictions between two runs that should be the same one."""
    pairs = [pair.difference for pair in pair_steps(first, second)]
    return max([*pairs, *(pair.difference for pair in pair_predictions(first, second))], default=0.0)


def steady_steps(first: Trace, second: Trace) -> tuple[Place, ...]:
    """The first steps of two runs that should be the same one, as far as their noise leaves room for that of another
    version."""
    pairs = pair_steps(first, second)
    steady = itertools.takewhile(lambda pair: pair.difference <= CEILING / SAFETY, pairs)
    return tuple((pair.fit, pair.epoch, pair.step) for pair in steady)


def relative_difference(old: float, new: float, scale: float = 0.0) -> float:
    """|old - new| over the largest of both and `scale`; infinite when only one of them is a finite number."""
    if old == new or (math.isnan(old) and math.isnan(new)):
        return 0.0
    if not (math.isfinite(old) and math.isfinite(new)):
        return math.inf
    return abs(old - new) / max(abs(old), abs(new), scale)


def same_inputs(old: Prediction, new: Prediction, band: float) -> bool | None:
    """Whether two calls predicted from the same inputs, but for differences as small as those of the outputs may be;
    None where one of them has no fingerprint."""
    if old.fingerprint is None or new.fingerprint is None:
        return None
    return old.fingerprint == new.fingerprint or sketches_apart(old, new) <= band


def sketches_apart(old: Step | Prediction, new: Step | Prediction) -> float:
    """How far two batches lie apart by their sketches, relative to their norms; infinite where they are of other sizes
    or one has none."""
    if old.sketch is None or new.sketch is None or len(old.sketch) != len(new.sketch) or old.samples != new.samples:
        return math.inf
    return max(
        (
            max(abs(norm - other), abs(shadow - its)) / (max(norm, other) or 1.0)
            for (norm, shadow), (other, its) in zip(old.sketch, new.sketch)
        ),
        default=math.inf,
    )


def steps_of_both(old: Trace, new: Trace) -> Iterator[tuple[Step, Step]]:
    """The steps that both runs took, by their places, in the old run's order."""
    others = {step.place: step for step in new.steps}
    return ((step, others[step.place]) for step in old.steps if step.place in others)


def pair_steps(old: Trace, new: Trace) -> tuple[StepPair, ...]:
    """How far the losses lie apart in the steps that both runs took, in the old run's order."""
    scale = 0.01 * max((abs(s.loss) for s in old.steps if math.isfinite(s.loss)), default=0.0)
    replicas = max([m.replicas for m in (*old.models, *new.models)], default=1)
    pairs = []
    for a, b in steps_of_both(old, new):
        samples = a.samples if a.samples is not None else b.samples
        uneven = samples is not None and samples % replicas != 0
        difference = relative_difference(a.loss, b.loss, scale)
        pairs.append(StepPair(*a.place, a.loss, b.loss, difference, uneven, a.shared_evenly))
    return tuple(pairs)


def pair_epochs(old: Trace, new: Trace) -> tuple[EpochPair, ...]:
    """Epochs that both runs ended, by (fit, epoch), in the old run's order."""
    others = {(e.fit, e.epoch): e.logs for e in new.epochs}
    return tuple(
        EpochPair(e.fit, e.epoch, e.logs.get("loss"), b.get("loss"), e.logs.get("val_loss"), b.get("val_loss"))
        for e in old.epochs
        if (b := others.get((e.fit, e.epoch))) is not None
    )


def pair_predictions(old: Trace, new: Trace) -> tuple[PredictionPair, ...]:
    """Calls of both runs, one after the other."""
    scales: dict[tuple[int, int], float] = {}
    for call in old.predictions:
        for i, output in enumerate(call.outputs):
            if math.isfinite(output.largest):
                scales[call.model, i] = max(scales.get((call.model, i), 0.0), 0.01 * output.largest)
    return tuple(
        PredictionPair(index, a, b, _apart(a, b, scales))
        for index, (a, b) in enumerate(zip(old.predictions, new.predictions))
    )


def _apart(old: Prediction, new: Prediction, scales: dict[tuple[int, int], float]) -> float:
    if [output.shape for output in old.outputs] != [output.shape for output in new.outputs]:
        return math.inf
    return max(
        (_output(a, b, scales.get((old.model, i), 0.0)) for i, (a, b) in enumerate(zip(old.outputs, new.outputs))),
        default=math.inf,
    )


def _output(old: Output, new: Output, smallest: float) -> float:
    """`smallest`: of what the values' difference is taken over."""
    if math.isnan(old.largest) or math.isnan(new.largest):
        return 0.0 if math.isnan(old.largest) and math.isnan(new.largest) else math.inf
    scale = max(old.largest, smallest)
    apart = [abs(x - y) / scale for x, y in zip(old.values, new.values) if x != y and scale]
    for (norm, shadow), (other, its) in zip(old.sketches, new.sketches):
        length = max(norm, other, smallest)
        apart.append(max(abs(norm - other), abs(shadow - its)) / length if length else 0.0)
    return max(apart, default=0.0)
