"""What both runs must have in common besides their losses, line by line, and the known differences of the systems."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tfmigrate.verify.judge import batches, initializers, weights
from tfmigrate.verify.judge.align import EpochPair, StepPair, relative_difference, same_inputs, steps_of_both
from tfmigrate.verify.judge.optimizers import ROUNDING, describe, pair_compiles, same_optimizer
from tfmigrate.verify.run.trace import Fit, Model, Step, Trace, minor

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
WEIGHED_BAND = 1e-5
"""Weights are float32 in every Keras, and means of them are taken here."""

BATCH_NORM = "batch norm statistics"
NARROW_NORMALS = "normal distributions cut off"
REMAINDER = "remainder batch"
LAST_BATCH = "validation of the last batch alone"
CLASS_WEIGHTED = "validation weighted by class"
OTHER_BATCHES = "validation on other batches of an iterator"


@dataclass(frozen=True)
class Row:
    """One line of the contract. `known` names a true difference of the two systems that is no fault of the migration;
    a row that is not the same and not known makes the runs different."""

    what: str
    old: Any
    new: Any
    same: bool
    known: str | None = None

    @property
    def broken(self) -> bool:
        return not self.same and self.known is None


@dataclass(frozen=True)
class KnownDifference:
    """A difference of the two systems themselves; `what` says what `size` measures."""

    name: str
    what: str
    size: float


@dataclass(frozen=True)
class Facts:
    """What the rows are made from."""

    old: Trace
    new: Trace
    steps: tuple[StepPair, ...]
    epochs: tuple[EpochPair, ...]
    band: float
    """Tolerance on relative loss differences."""
    known: tuple[KnownDifference, ...]


def rows(facts: Facts) -> tuple[Row, ...]:
    """The whole contract. What a side did not record has no row: `not_compared` names it."""
    training = (
        _models, _data, _weighed, _calls, _epoch_length, _loss_weights, _learning_rate, _optimizers, _validation,
        _weights,
    )  # fmt: skip
    predicting = (_predictors, _predictions, _weights)
    return tuple(row for part in (predicting if facts.old.predictions else training) for row in part(facts))


NEEDED = {
    "samples per epoch": "samples per epoch",
    "global batch size": "global batch size",
    "batches": "batches with the same content",
    "shuffling": "shuffle asked for",
    "learning rate": "learning rate at each step",
    "optimizer settings": "optimizer",
    "initial weights": "initial weights",
    "first gradient": "first gradient",
    "final weights": "final trainable weights",
}

NEEDED_OF_PREDICTIONS = {
    "inputs": "inputs with the same content",
    "rows": "rows predicted",
    "weights": "initial weights",
}


def not_compared(facts: Facts, contract: Iterable[Row]) -> tuple[str, ...]:
    """What every comparison should show and this one cannot, because a run did not record it."""
    present = [row.what for row in contract]
    needed = NEEDED_OF_PREDICTIONS if facts.old.predictions else NEEDED
    return tuple(what for what, start in needed.items() if not any(name.startswith(start) for name in present))


# Known differences of the two systems


def known_differences(
    old: Trace, new: Trace, steps: tuple[StepPair, ...], epochs: tuple[EpochPair, ...], band: float
) -> tuple[KnownDifference, ...]:
    remainder = _remainder(old, new, steps, epochs, band)
    allowed = max(band, _remainder_allowance(remainder)) if remainder else band
    differences = (
        _rounded_data(old, new),
        remainder,
        _narrow_normals(old, new),
        _moving_statistics(old, new, band),
        *_of_old_validation(old, epochs, allowed),
        _other_batches(old, epochs, allowed),
    )
    return tuple(difference for difference in differences if difference is not None)


def _rounded_data(old: Trace, new: Trace) -> KnownDifference | None:
    size, count = batches.largest_rounding(old, new)
    if not count:
        return None
    versions = [trace.start.numpy for trace in (old, new) if trace.start and trace.start.numpy]
    numpys = f" (NumPy {versions[0]} and {versions[1]})" if len(set(versions)) == 2 else ""
    what = (
        f"{count} of {len(old.steps)} batches are not the same to the last bit, as two versions of a library round "
        f"differently{numpys}; all their values agree within {batches.ROUNDED:.0e}. Largest difference of a value, "
        "relative to the largest in its column or array"
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
    unseen = max(size, _validation_difference(epochs) or 0.0) <= band and max(ended, default=0.0) <= WEIGHTS_BAND * band
    if size > REMAINDER_LIMIT or unseen:
        return None
    where = steps[first]
    what = (
        f"the batch at epoch {where.epoch}, step {where.step} does not divide by the replicas: multi_gpu_model takes "
        "the mean over its samples, MirroredStrategy the mean of the replicas' means. "
        "Relative loss difference from there on"
    )
    return KnownDifference(REMAINDER, what, size)


def _remainder_allowance(remainder: KnownDifference) -> float:
    """The relative difference of validation losses that is put down to remainder batches."""
    return min(REMAINDER_LIMIT, max(1e-3, REMAINDER_VALIDATION * remainder.size))


CUT_OFF = 0.8796
"""Spread of a normal distribution that is cut off at two standard deviations, in these (.87962566103423978 in
keras/initializers.py of 2.2.0, which divides by it)."""


def narrower(old: Trace) -> float:
    """How much of today's spread he_normal and its like had: standalone Keras before 2.2 (read in 2.1.6) cut them off
    and did not widen them for it."""
    start = old.start
    return CUT_OFF if start is not None and start.flavour == "keras" and minor(start.keras) < (2, 2) else 1.0


def _narrow_normals(old: Trace, new: Trace) -> KnownDifference | None:
    names = [
        name
        for before, after in zip(old.models, new.models)
        for name, _, _ in weights.drawn_otherwise(before, after)
        if name not in {other for other, _, _ in weights.drawn_otherwise(before, after, narrower(old))}
    ]
    if not names:
        return None
    what = (
        f"{len(names)} weights begin with a spread 1.14 times as wide, {names[0]} for one: before 2.2 Keras cut "
        "he_normal, glorot_normal and lecun_normal off at two standard deviations and did not widen them for it. Only "
        "what a model begins with differs by that. Relative difference of the spread"
    )
    return KnownDifference(NARROW_NORMALS, what, 1 / CUT_OFF - 1)


def _moving_statistics(old: Trace, new: Trace, band: float) -> KnownDifference | None:
    apart = [
        (difference.absolute, difference.name)
        for model in old.models
        for statistics in [weights.statistics(old, model.index)]
        for i, difference in enumerate(weights.differences(old, new, model.index, "final") or ())
        if i in statistics and difference.relative > WEIGHTS_BAND * band
    ]
    if not apart or any(not updates_explain(old, new, model) for model in old.models):
        return None
    size, name = max(apart)
    what = (
        f"{len(apart)} non-trainable weights ended with other values, most of all {name}: multi_gpu_model updated "
        "moving averages more than once a step, MirroredStrategy updates them once. "
        f"{CORRECTED if starts_at_the_batch(old) and not starts_at_the_batch(new) else ''}"
        "Training does not read them, validation does. Largest absolute difference"
    )
    return KnownDifference(BATCH_NORM, what, size)


CORRECTED = (
    "Keras before 2.3 also corrected them for beginning at zero: its first step set them to the statistics of the "
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
    size = _validation_difference(epochs)
    if size is None or size <= band:
        return
    if _logs_last_batch_only(old):
        what = (
            "Keras 2.3 logs the loss of the last validation batch, not their mean, where it trains on a generator. "
            "Relative difference"
        )
        yield KnownDifference(LAST_BATCH, what, size)
    if _weighs_validation(old):
        what = (
            "Keras before 2.4, and tf.keras before 2.2, weigh the loss of a validation_split by class_weight, later "
            "ones only that of training. Relative difference"
        )
        yield KnownDifference(CLASS_WEIGHTED, what, size)


def _other_batches(old: Trace, epochs: tuple[EpochPair, ...], band: float) -> KnownDifference | None:
    """Where the first validation agrees, and later ones read on in an iterator from where reading ahead ended."""
    on_iterator = any(fit.source == "generator" and fit.validation_samples for fit in old.fits)
    on_iterator = on_iterator and all(fit.validation_content is None for fit in old.fits)
    size, first = _validation_difference(epochs), _validation_difference(epochs[:1])
    if not on_iterator or size is None or first is None or size <= band or first > band:
        return None
    what = (
        "the first validation agrees; later ones take other batches of the iterator, because each system reads ahead "
        "and starts anew in its own way. Relative difference"
    )
    return KnownDifference(OTHER_BATCHES, what, size)


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


def asked(old: Trace, new: Trace) -> tuple[Row, ...]:
    """What both scripts ask for, whatever came of it: models, data, training calls, optimizers."""
    facts = Facts(old, new, (), (), 0.0, ())
    return (*_models(facts), *_first_epochs(old, new), *_calls(facts), *_loss_weights(facts), *_optimizers(facts))


def _first_epochs(old: Trace, new: Trace) -> Iterator[Row]:
    x, y = global_batch_size(old), global_batch_size(new)
    if x is not None and y is not None:
        yield Row("global batch size", x, y, x == y)
    a, b = ([fit.samples for fit in trace.fits if fit.samples is not None] for trace in (old, new))
    if a and b:
        yield Row("samples per epoch", _brief(a), _brief(b), a == b)


# The rows


def _models(facts: Facts) -> Iterator[Row]:
    old, new = facts.old.models, facts.new.models
    yield Row("trained models", len(old), len(new), len(old) == len(new))
    for a, b in zip(old, new):
        yield from _size(a, b, facts)
        yield from _built(a, b, facts)


def _size(old: Model, new: Model, facts: Facts) -> Iterator[Row]:
    yield Row(_of("replicas", old, facts), old.replicas, new.replicas, old.replicas == new.replicas)
    x, y = [shape for _, shape, _ in old.weights], [shape for _, shape, _ in new.weights]
    yield Row(_of("weights", old, facts), _count(old), _count(new), x == y)


def _precision(old: Model, new: Model, facts: Facts) -> Iterator[Row]:
    if old.dtypes and new.dtypes:
        a, b = ", ".join(old.dtypes), ", ".join(new.dtypes)
        yield Row(_of("computed in", old, facts), a, b, a == b)


def _origin(old: Model, new: Model, facts: Facts) -> Row:
    return Row(_of("loaded from a file", old, facts), old.loaded, new.loaded, old.loaded == new.loaded)


def _built(old: Model, new: Model, facts: Facts) -> Iterator[Row]:
    """What an aligned run's losses are slow to show, or cannot."""
    x, y = _trainable(old), _trainable(new)
    if len(old.weights) == len(new.weights):
        yield Row(_of("trainable weights", old, facts), _tensors(len(x)), _tensors(len(y)), x == y)
    yield from _precision(old, new, facts)
    for what, asked, now in (
        ("dropout and noise asked for", old.noise, new.noise),
        ("regularizers", old.regularizers, new.regularizers),
        ("constraints", old.constraints, new.constraints),
    ):
        if asked or now:
            yield Row(_of(what, old, facts), ", ".join(asked) or "none", ", ".join(now) or "none", asked == now)
    if old.loaded or new.loaded:
        yield _origin(old, new, facts)
    if (compared := initializers.compared(old, new)) and not (old.loaded or new.loaded):
        other = len(initializers.changed(old, new))
        yield Row(_of("initializers asked for", old, facts), _parts(compared), _parts(compared - other), not other)
    yield from _own(old, new, facts)


def _own(old: Model, new: Model, facts: Facts) -> Iterator[Row]:
    """What the scripts themselves give the weights, before both runs are made to begin with the old one's."""
    if len(old.own) != len(new.own):
        return
    loaded = sum(1 for a, b in zip(old.own, new.own) if a and b and (a[2] or b[2]))
    if loaded:
        lost = len(weights.given_otherwise(old, new))
        what = _of("tensors that a file gives", old, facts)
        yield Row(what, _tensors(loaded), _tensors(loaded - lost), not lost)
    drawn = sum(1 for a, b in zip(old.own, new.own) if a and b) - loaded
    if drawn:
        other = len(weights.drawn_otherwise(old, new, narrower(facts.old)))
        yield Row(_of("initial values of one spread", old, facts), _tensors(drawn), _tensors(drawn - other), not other)


def _predictors(facts: Facts) -> Iterator[Row]:
    """Of a script that trains nothing. What its models do in training alone makes no difference."""
    old, new = facts.old.models, facts.new.models
    yield Row("models that predict", len(old), len(new), len(old) == len(new))
    for a, b in zip(old, new):
        yield from _size(a, b, facts)
        yield _origin(a, b, facts)
        yield from _precision(a, b, facts)


def _predictions(facts: Facts) -> Iterator[Row]:
    old, new = facts.old.predictions, facts.new.predictions
    if facts.new.steps:
        yield Row("training steps", 0, len(facts.new.steps), False)
    yield Row("calls that predict", len(old), len(new), len(old) == len(new))
    a, b = ([call.samples for call in calls if call.samples is not None] for calls in (old, new))
    if a and b:
        totals = (sum(a), sum(b)) if a == b or sum(a) != sum(b) else (_brief(a), _brief(b))
        yield Row("rows predicted", *totals, a == b)
    compared = [same for x, y in zip(old, new) if (same := same_inputs(x, y, facts.band)) is not None]
    if compared:
        yield Row("inputs with the same content", len(compared), sum(compared), all(compared))


def _trainable(model: Model) -> list[int]:
    return [i for i, (_, _, trainable) in enumerate(model.weights) if trainable]


def _tensors(count: int) -> str:
    return f"{count} tensors"


def _parts(count: int) -> str:
    return f"{count} of layers"


def _of(what: str, model: Model, facts: Facts) -> str:
    return what if len(facts.old.models) == 1 else f"{what}, model {model.index}"


def _count(model: Model) -> str:
    return f"{sum(math.prod(shape) for _, shape, _ in model.weights):,} in {len(model.weights)} tensors"


def _data(facts: Facts) -> Iterator[Row]:
    old, new = facts.old, facts.new
    yield Row("steps", len(old.steps), len(new.steps), len(old.steps) == len(new.steps) == len(facts.steps))
    a, b = (_samples_per_epoch(trace.steps, {(e.fit, e.epoch) for e in facts.steps}) for trace in (old, new))
    if a and b:
        yield Row("samples per epoch", _brief(a), _brief(b), a == b)
    x, y = global_batch_size(old), global_batch_size(new)
    if x is not None and y is not None:
        yield Row("global batch size", x, y, x == y)
    agree = (batches.same(old, new, a, b, facts.band) for a, b in steps_of_both(old, new))
    compared = [same for same in agree if same is not None]
    if compared:
        yield Row("batches with the same content", len(compared), sum(compared), all(compared))


def _weighed(facts: Facts) -> Iterator[Row]:
    """The weights that the samples really had, wherever they came from."""
    pairs = ((a.weighed, b.weighed) for a, b in steps_of_both(facts.old, facts.new))
    both = [(a, b) for a, b in pairs if a is not None and b is not None]
    if any(a != (0.0, 0.0) or b != (0.0, 0.0) for a, b in both):
        same = all(abs(x - y) <= WEIGHED_BAND * max(1.0, abs(x), abs(y)) for a, b in both for x, y in zip(a, b))
        yield Row("mean weight of a sample", _mean([a for a, _ in both]), _mean([b for _, b in both]), same)


def _mean(weighed: list[tuple[float, float]]) -> float | str:
    if all(step == (0.0, 0.0) for step in weighed):
        return "none"
    return _figure(1.0 + math.fsum(excess for excess, _ in weighed) / len(weighed), 4)


def _loss_weights(facts: Facts) -> Iterator[Row]:
    for a, b in pair_compiles(facts.old, facts.new):
        if a.loss_weights or b.loss_weights:
            same = len(a.loss_weights) == len(b.loss_weights) and all(
                relative_difference(x, y) <= ROUNDING for x, y in zip(a.loss_weights, b.loss_weights)
            )
            yield Row("loss weights", _numbers(a.loss_weights), _numbers(b.loss_weights), same)


def _numbers(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:.6g}" for value in values) or "none"


def _samples_per_epoch(steps: Iterable[Step], begun: set[tuple[int, int]]) -> list[int]:
    """Of each epoch that both runs began."""
    totals: Counter[tuple[int, int]] = Counter()
    for step in steps:
        if step.samples is None:
            return []
        if (step.fit, step.epoch) in begun:
            totals[step.fit, step.epoch] += step.samples
    return [totals[key] for key in sorted(totals)]


def _brief(values: list[int]) -> int | str:
    if len(set(values)) == 1:
        return values[0]
    return ", ".join(map(str, values[:6])) + (", ..." if len(values) > 6 else "")


def global_batch_size(trace: Trace) -> int | None:
    """The full global batch: what the steps took, else what the training call was given."""
    taken = [step.samples for step in trace.steps if step.samples is not None]
    if taken:
        return max(taken)
    return next((fit.global_batch_size for fit in trace.fits if fit.global_batch_size is not None), None)


def _calls(facts: Facts) -> Iterator[Row]:
    """What each training call was asked for; calls that are all alike (a GAN makes thousands) give one set of rows."""
    seen: set[object] = set()
    for old, new in zip(facts.old.fits, facts.new.fits):
        wishes = (_wishes(old), _wishes(new))
        if wishes in seen:
            continue
        suffix = f", training call {old.index}" if seen else ""
        seen.add(wishes)
        if "unknown" not in (old.shuffle, new.shuffle):
            yield Row(f"shuffle asked for{suffix}", old.shuffle, new.shuffle, old.shuffle == new.shuffle)
        for what, a, b in (
            ("epochs asked for", old.epochs, new.epochs),
            ("class weights", old.class_weight, new.class_weight),
            ("sample weights", _sample_weight(old), _sample_weight(new)),
            ("validation samples", old.validation_samples, new.validation_samples),
        ):
            if a is not None and b is not None:
                yield Row(f"{what}{suffix}", a, b, a == b)
        x, y = old.validation_content, new.validation_content
        if old.dropped or new.dropped:
            before, after = (", ".join(fit.dropped) or "none" for fit in (old, new))
            yield Row(f"dropout of the script's own code{suffix}", before, after, before == after)
        apart = batches.validated(old, new)
        if x is not None and y is not None and apart is not None and old.validation_samples == new.validation_samples:
            yield Row(f"validation data{suffix}", x[:8], y[:8], apart <= batches.ROUNDED)


def _epoch_length(facts: Facts) -> Iterator[Row]:
    """Of runs that a budget cut: what lies behind the cut is known from what was asked for alone."""
    old, new = facts.old.cut, facts.new.cut
    if old is not None and new is not None and old.fit == new.fit:
        x, y = old.steps_per_epoch, new.steps_per_epoch
        # An Estimator takes as many at most: fewer where its data ends before, which the new script knows beforehand.
        at_most = any(fit.index == old.fit and fit.call == "train" for fit in facts.old.fits)
        if x is not None and y is not None and not (at_most and y < x):
            yield Row("length of an epoch, steps", x, y, x == y)


def _sample_weight(fit: Fit) -> bool | None:
    """None where the data may hold them and nobody looked; the losses show them."""
    return None if fit.source in ("generator", "sequence") and not fit.sample_weight else fit.sample_weight


def _wishes(fit: Fit) -> tuple[object, ...]:
    return fit.shuffle, fit.epochs, fit.class_weight, fit.sample_weight, fit.validation_samples, fit.validation_content


def _learning_rate(facts: Facts) -> Iterator[Row]:
    pairs = ((a.learning_rate, b.learning_rate) for a, b in steps_of_both(facts.old, facts.new))
    both = [(a, b) for a, b in pairs if a is not None and b is not None]
    if both:
        same = all(relative_difference(x, y) <= ROUNDING for x, y in both)
        yield Row("learning rate at each step", _range([x for x, _ in both]), _range([y for _, y in both]), same)


def _range(values: list[float]) -> float | str:
    seen = [float(f"{value:.6g}") for value in values]
    return seen[0] if min(seen) == max(seen) else f"{seen[0]:g} ... {seen[-1]:g}"


def _optimizers(facts: Facts) -> Iterator[Row]:
    pairs = pair_compiles(facts.old, facts.new)
    for a, b in pairs:
        what = "optimizer" if len(pairs) == 1 else f"optimizer, model {a.model}, training call {a.fit}"
        yield Row(what, describe(a), describe(b), same_optimizer(a, b))


def _validation(facts: Facts) -> Iterator[Row]:
    logged = [e for e in facts.epochs if e.old_validation is not None or e.new_validation is not None]
    if logged:
        difference = _validation_difference(facts.epochs)
        same = difference is not None and difference <= facts.band
        known = None if same or difference is None else _excuse(facts, difference)
        yield Row("validation loss", logged[-1].old_validation, logged[-1].new_validation, same, known)


def _excuse(facts: Facts, difference: float) -> str | None:
    """The known difference that explains validation losses so far apart."""
    remainder = next((known for known in facts.known if known.name == REMAINDER), None)
    if remainder is not None and difference <= _remainder_allowance(remainder):
        return REMAINDER
    return _first_known(facts, BATCH_NORM, LAST_BATCH, CLASS_WEIGHTED, OTHER_BATCHES)


def _validation_difference(epochs: tuple[EpochPair, ...]) -> float | None:
    """Largest relative difference of the validation losses, over 1% of the old run's largest loss at least, as those of
    training are: what rounding does to a loss that has become small is no smaller for it. None when a run logged one
    where the other did not."""
    logged = [(e.old_validation, e.new_validation) for e in epochs]
    pairs = [(x, y) for x, y in logged if x is not None or y is not None]
    largest = (abs(x) for e in epochs for x in (e.old, e.old_validation) if x is not None and math.isfinite(x))
    scale = 0.01 * max(largest, default=0.0)
    both = [relative_difference(x, y, scale) for x, y in pairs if x is not None and y is not None]
    return max(both) if both and len(both) == len(pairs) else None


def _first_known(facts: Facts, *names: str) -> str | None:
    present = {difference.name for difference in facts.known}
    return next((name for name in names if name in present), None)


def _weights(facts: Facts) -> Iterator[Row]:
    old, new = facts.old, facts.new
    for model in old.models:
        initial = weights.differences(old, new, model.index, "initial")
        if initial is not None:
            size = max((d.absolute for d in initial), default=0.0)
            yield Row(_of("initial weights, largest difference", model, facts), 0.0, _figure(size), size <= 1e-7)
        gradient = weights.gradient_ratio(old, new, model.index)
        if gradient is not None:
            same = gradient.difference <= max(WEIGHTS_BAND * facts.band, 10 * gradient.rounding)
            yield Row(_of("first gradient, ratio", model, facts), 1.0, _figure(gradient.ratio, 6), same)
        final = weights.differences(old, new, model.index, "final")
        if final is None:
            continue
        idle, statistics = weights.without_gradient(old, model.index), weights.statistics(old, model.index)
        remainder = max((known.size for known in facts.known if known.name == REMAINDER), default=0.0)
        for kind, excuse, limit, chosen in (
            (
                "trainable",
                REMAINDER,
                max(REMAINDER_LIMIT, WEIGHTS_BAND * remainder),
                # What is frozen when the training begins has no gradient then, and may be trained later.
                [d for i, d in enumerate(final) if (i not in idle if d.trainable else i not in statistics)],
            ),
            ("non-trainable", BATCH_NORM, math.inf, [d for i, d in enumerate(final) if i in statistics]),
        ):
            if chosen:
                size = max(d.relative for d in chosen)
                same = size <= WEIGHTS_BAND * facts.band
                known = None if same or size > limit else _first_known(facts, excuse)
                what = _of(f"final {kind} weights, largest relative difference", model, facts)
                yield Row(what, 0.0, _figure(size), same, known)


def _figure(value: float, digits: int = 3) -> float:
    return float(f"{value:.{digits}g}")
