"""What both runs must have in common besides their losses, line by line."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tfmigrate.verify.judge import batches, initializers, weights
from tfmigrate.verify.judge.align import EpochPair, StepPair, relative_difference, same_inputs, steps_of_both
from tfmigrate.verify.judge.differences import (
    BATCH_NORM,
    CLASS_WEIGHTED,
    GOES_ON,
    LAST_BATCH,
    OTHER_BATCHES,
    REMAINDER,
    REMAINDER_LIMIT,
    WEIGHTS_BAND,
    KnownDifference,
    narrower,
    remainder_allowance,
    validation_difference,
)
from tfmigrate.verify.judge.optimizers import ROUNDING, describe, pair_compiles, same_optimizer
from tfmigrate.verify.run.trace import Fit, Model, Step, Trace

WEIGHED_BAND = 1e-5
"""Weights are float32 in every Keras, and means of them are taken here."""


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
        difference = validation_difference(facts.epochs)
        same = difference is not None and difference <= facts.band
        known = None if same or difference is None else _excuse(facts, difference)
        shown = logged[-1] if same else max(logged, key=_validations_apart)
        yield Row("validation loss", shown.old_validation, shown.new_validation, same, known)


def _validations_apart(epoch: EpochPair) -> float:
    """How far one epoch's validation losses are apart, relative to the larger."""
    x, y = epoch.old_validation, epoch.new_validation
    return math.inf if x is None or y is None else relative_difference(x, y)


def _excuse(facts: Facts, difference: float) -> str | None:
    """The known difference that explains validation losses so far apart."""
    remainder = next((known for known in facts.known if known.name == REMAINDER), None)
    if remainder is not None and difference <= remainder_allowance(remainder):
        return REMAINDER
    return _first_known(facts, BATCH_NORM, LAST_BATCH, CLASS_WEIGHTED, OTHER_BATCHES, GOES_ON)


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
