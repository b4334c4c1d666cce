"""Known differences of the two systems: what any old and new run of one script may show between them, found in their
traces and named with its size, so that it is not taken for a fault of the migration."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tfmigrate.verify.judge import batches, weights
from tfmigrate.verify.judge.align import EpochPair, StepPair, relative_difference
from tfmigrate.verify.run.trace import Model, Moment, Trace, minor

WEIGHTS_BAND = 100.0
"""Weights are judged at this many times the loss tolerance: near a minimum the loss moves with the square of the
weights, so weights a thousandth apart have losses about a millionth apart."""

REMAINDER_LIMIT = 0.1
"""A remainder batch was seen to move losses by 1e-6 to 3.7e-2; more than this is not put down to it."""

REMAINDER_VALIDATION = 10.0
"""So many times the drift of the training loss, and 1e-3 at least (the drift may not show before the run ends), is put
down to remainder batches in the validation loss, which sees every weight at once."""

UPDATES_SLACK = 1.5
"""Each of the updates sees another part of the batch."""

ROUNDED_DATA = "data rounded by another library"
BATCH_NORM = "batch norm statistics"
NARROW_NORMALS = "normal distributions cut off"
REMAINDER = "remainder batch"
LAST_BATCH = "validation of the last batch alone"
CLASS_WEIGHTED = "validation weighted by class"
OTHER_BATCHES = "validation on other batches of an iterator"
GOES_ON = "validation that goes on in a Sequence"


@dataclass(frozen=True)
class KnownDifference:
    """A difference of the two systems themselves; `what` says what `size` measures."""

    name: str
    what: str
    size: float


def known_differences(
    old: Trace, new: Trace, steps: tuple[StepPair, ...], epochs: tuple[EpochPair, ...], band: float
) -> tuple[KnownDifference, ...]:
    remainder = _remainder(old, new, steps, epochs, band)
    allowed = max(band, remainder_allowance(remainder)) if remainder else band
    differences = (
        _rounded_data(old, new),
        remainder,
        _narrow_normals(old, new),
        _moving_statistics(old, new, band),
        *_of_old_validation(old, epochs, allowed),
        _other_batches(old, epochs, allowed),
        _goes_on(old, epochs, allowed),
    )
    return tuple(difference for difference in differences if difference is not None)


def _rounded_data(old: Trace, new: Trace) -> KnownDifference | None:
    size, count = batches.largest_rounding(old, new)
    if not count:
        return None
    versions = [trace.start.numpy for trace in (old, new) if trace.start and trace.start.numpy]
    numpys = f" (NumPy {versions[0]} and {versions[1]})" if len(set(versions)) == 2 else ""
    what = (
        f"{count} of {len(old.steps)} batches are not the same to the last bit, because two versions of a library "
        f"round differently{numpys}; all their values agree within {batches.ROUNDED:.0e}. Largest difference of a "
        "value, relative to the largest in its column or array"
    )
    return KnownDifference(ROUNDED_DATA, what, size)


def _remainder(
    old: Trace, new: Trace, steps: tuple[StepPair, ...], epochs: tuple[EpochPair, ...], band: float
) -> KnownDifference | None:
    """Where the old run could not be made to share its batches evenly."""
    first = next((i for i, pair in enumerate(steps) if pair.uneven and not pair.shared), None)
    if first is None:
        return None
    size = max(pair.difference for pair in steps[first:])
    ended = [
        difference.relative
        for model in old.models
        for difference in weights.differences(old, new, model.index, "final") or ()
        if difference.trainable
    ]
    unseen = max(size, validation_difference(epochs) or 0.0) <= band and max(ended, default=0.0) <= WEIGHTS_BAND * band
    if size > REMAINDER_LIMIT or unseen:
        return None
    where = steps[first]
    what = (
        f"the batch at epoch {where.epoch}, step {where.step} cannot be divided evenly among the replicas: "
        "multi_gpu_model takes the mean over its samples, MirroredStrategy the mean of the replicas' means. "
        "Relative loss difference from there on"
    )
    return KnownDifference(REMAINDER, what, size)


def remainder_allowance(remainder: KnownDifference) -> float:
    """The relative difference of validation losses that is put down to remainder batches."""
    return min(REMAINDER_LIMIT, max(1e-3, REMAINDER_VALIDATION * remainder.size))


CUT_OFF = 0.8796
"""Spread of a normal distribution that is cut off at two standard deviations, in these (.87962566103423978 in
keras/initializers.py of 2.2.0, which divides by it)."""


def narrower(old: Trace) -> float:
    """The spread of he_normal, glorot_normal and lecun_normal in the old run, relative to today's: standalone Keras
    before 2.2 (read in 2.1.6) cut them off at two standard deviations without correcting for it."""
    start = old.start
    return CUT_OFF if start is not None and start.flavour == "keras" and minor(start.keras) < (2, 2) else 1.0


def _narrow_normals(old: Trace, new: Trace) -> KnownDifference | None:
    factor = narrower(old)
    if factor == 1.0:
        return None
    names = []
    for before, after in zip(old.models, new.models):
        unexplained = {name for name, _, _ in weights.drawn_otherwise(before, after, factor)}
        names += [name for name, _, _ in weights.drawn_otherwise(before, after) if name not in unexplained]
    if not names:
        return None
    what = (
        f"{len(names)} weights start with a spread 1.14 times as wide, for example {names[0]}: before 2.2 Keras cut "
        "off he_normal, glorot_normal and lecun_normal at two standard deviations without compensating for it. Only "
        "the initial weights differ by that. Relative difference of the spread"
    )
    return KnownDifference(NARROW_NORMALS, what, 1 / CUT_OFF - 1)


def _moving_statistics(old: Trace, new: Trace, band: float) -> KnownDifference | None:
    moment: Moment = "final"
    if not all(weights.snapshot(trace, model.index, moment) for trace in (old, new) for model in old.models):
        moment = "after_first_update"  # Of runs that are compared up to some step there is nothing later.
    apart = [
        (difference.absolute, difference.name)
        for model in old.models
        for statistics in [weights.statistics(old, model.index)]
        for i, difference in enumerate(weights.differences(old, new, model.index, moment) or ())
        if i in statistics and difference.relative > WEIGHTS_BAND * band
    ]
    if not apart or any(not updates_explain(old, new, model) for model in old.models):
        return None
    size, name = max(apart)
    what = (
        f"{len(apart)} non-trainable weights {'ended with' if moment == 'final' else 'had'} other "
        f"values{'' if moment == 'final' else ' after the first step'}, most of all {name}: multi_gpu_model updated "
        "moving averages more than once per step, MirroredStrategy updates them once. "
        f"{CORRECTED if starts_at_the_batch(old) and not starts_at_the_batch(new) else ''}Training does not read "
        "them, validation does. Largest absolute difference"
    )
    return KnownDifference(BATCH_NORM, what, size)


CORRECTED = (
    "Keras before 2.3 also corrected them for starting at zero: its first step set them to the statistics of the "
    "batch, where one step now moves them 1 - momentum of the way. "
)


def starts_at_the_batch(trace: Trace) -> bool:
    """Whether the first update sets a moving average to what it is an average of: standalone Keras before 2.3, whose
    K.moving_average_update asks for zero_debias (read in 2.1.6 and 2.2.4; 2.3.1 and tf.keras of 1.15 do without)."""
    start = trace.start
    return start is not None and start.flavour == "keras" and minor(start.keras) < (2, 3)


def updates_explain(old: Trace, new: Trace, model: Model) -> bool:
    """Whether the several updates of moving averages that multi_gpu_model makes in a step (one a replica, and one more
    in old versions) explain how far the first step moves them: with momentum m, k updates move them
    1 + m + ... + m^(k - 1) times as far as one, between once and k times. Where the first update sets them to the
    batch's own statistics, it moves them 1 / (1 - m) times as far, whatever m is: only too short a way is wrong then.
    """
    ratio = weights.statistics_ratio(old, new, model.index)
    if ratio is None:
        return True
    most = math.inf if starts_at_the_batch(old) and not starts_at_the_batch(new) else model.replicas + 1
    return 1 / UPDATES_SLACK <= ratio <= UPDATES_SLACK * most


def _logs_last_batch_only(old: Trace) -> bool:
    if old.start is None or old.start.flavour != "keras" or not old.start.keras.startswith("2.3"):
        return False
    return any(fit.call == "fit_generator" or fit.source in ("sequence", "generator") for fit in old.fits)


def _weighs_validation(old: Trace) -> bool:
    if old.start is None or not any(fit.class_weight for fit in old.fits):
        return False
    standalone = old.start.flavour == "keras"
    version = old.start.keras if standalone else old.start.tensorflow
    return minor(version) < ((2, 4) if standalone else (2, 2))


def _of_old_validation(old: Trace, epochs: tuple[EpochPair, ...], band: float) -> Iterator[KnownDifference]:
    """What the old Keras logs otherwise as its validation loss."""
    size = validation_difference(epochs)
    if size is None or size <= band:
        return
    if _logs_last_batch_only(old):
        what = (
            "when training on a generator, Keras 2.3 logs the loss of the last validation batch, not their mean. "
            "Relative difference"
        )
        yield KnownDifference(LAST_BATCH, what, size)
    if _weighs_validation(old):
        what = (
            "Keras before 2.4, and tf.keras before 2.2, weight the loss of a validation_split by class_weight, "
            "later ones only that of training. Relative difference"
        )
        yield KnownDifference(CLASS_WEIGHTED, what, size)


def _other_batches(old: Trace, epochs: tuple[EpochPair, ...], band: float) -> KnownDifference | None:
    """Where the first validation agrees, and later ones read on in an iterator from where reading ahead ended."""
    on_iterator = any(fit.source == "generator" and fit.validation_samples for fit in old.fits)
    on_iterator = on_iterator and all(fit.validation_content is None for fit in old.fits)
    size = _later_difference(epochs, band)
    if not on_iterator or size is None:
        return None
    what = (
        "the first validation agrees; later ones take different batches of the iterator, because each system reads "
        "ahead and restarts in its own way. Relative difference"
    )
    return KnownDifference(OTHER_BATCHES, what, size)


def _goes_on(old: Trace, epochs: tuple[EpochPair, ...], band: float) -> KnownDifference | None:
    """Standalone Keras keeps one reader of the validation Sequence for all epochs (measured with 2.1.6, 2.2.4, 2.3.1),
    so that fewer `validation_steps` than it has batches begin each time where the last validation ended."""
    standalone = old.start is not None and old.start.flavour == "keras"
    on_sequence = any(fit.call == "fit_generator" and fit.validation_content is not None for fit in old.fits)
    size = _later_difference(epochs, band)
    if not standalone or not on_sequence or size is None:
        return None
    what = (
        "the first validation agrees; if validation_steps are fewer than the batches of the Sequence, standalone "
        "Keras starts each later one at the batch where the last one ended, and today's Keras at the first batch. "
        "Relative difference"
    )
    return KnownDifference(GOES_ON, what, size)


def _later_difference(epochs: tuple[EpochPair, ...], band: float) -> float | None:
    """That of the validation losses where those of the first epoch agree and later ones do not."""
    size, first = validation_difference(epochs), validation_difference(epochs[:1])
    return size if size is not None and first is not None and first <= band < size else None


def known_of_validation(old: Trace) -> str | None:
    """The known difference, if one, for which this old run's validation losses cannot be compared with new ones."""
    if _logs_last_batch_only(old):
        return LAST_BATCH
    if _weighs_validation(old):
        return CLASS_WEIGHTED
    # What is assigned and not trained is batch norm's, near enough always.
    if any(weights.statistics(old, model.index) for model in old.models):
        return BATCH_NORM
    return None


def validation_difference(epochs: tuple[EpochPair, ...]) -> float | None:
    """Largest relative difference of the validation losses, over 1% of the old run's largest loss at least, as those of
    training are: what rounding does to a loss that has become small is no smaller for it. None when a run logged one
    where the other did not."""
    logged = [(e.old_validation, e.new_validation) for e in epochs]
    pairs = [(x, y) for x, y in logged if x is not None or y is not None]
    largest = (abs(x) for e in epochs for x in (e.old, e.old_validation) if x is not None and math.isfinite(x))
    scale = 0.01 * max(largest, default=0.0)
    both = [relative_difference(x, y, scale) for x, y in pairs if x is not None and y is not None]
    return max(both) if both and len(both) == len(pairs) else None
