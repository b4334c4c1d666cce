"""What both runs must have in common besides their losses, line by line."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator

from tfmigrate.verify.judge import batches
from tfmigrate.verify.judge.align import EpochPair, relative_difference, steps_of_both
from tfmigrate.verify.judge.contract_models import models, predictions, predictors, weights_of_models
from tfmigrate.verify.judge.contract_rows import Facts, Row, brief, figure, first_known
from tfmigrate.verify.judge.differences import (
    BATCH_NORM,
    CLASS_WEIGHTED,
    GOES_ON,
    LAST_BATCH,
    OTHER_BATCHES,
    REMAINDER,
    remainder_allowance,
    validation_difference,
)
from tfmigrate.verify.judge.optimizers import ROUNDING, describe, pair_compiles, same_optimizer
from tfmigrate.verify.run.trace import Fit, Step, Trace

WEIGHED_BAND = 1e-5
"""Weights are float32 in every Keras, and means of them are taken here."""


def rows(facts: Facts) -> tuple[Row, ...]:
    """The whole contract. What a side did not record has no row: `not_compared` names it."""
    training = (
        models, _data, _weighed, _calls, _epoch_length, _loss_weights, _learning_rate, _optimizers, _validation,
        weights_of_models,
    )  # fmt: skip
    predicting = (predictors, predictions, weights_of_models)
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
    return (*models(facts), *_first_epochs(old, new), *_calls(facts), *_loss_weights(facts), *_optimizers(facts))


def _first_epochs(old: Trace, new: Trace) -> Iterator[Row]:
    x, y = global_batch_size(old), global_batch_size(new)
    if x is not None and y is not None:
        yield Row("global batch size", x, y, x == y)
    a, b = ([fit.samples for fit in trace.fits if fit.samples is not None] for trace in (old, new))
    if a and b:
        yield Row("samples per epoch", brief(a), brief(b), a == b)


def _data(facts: Facts) -> Iterator[Row]:
    old, new = facts.old, facts.new
    yield Row("steps", len(old.steps), len(new.steps), len(old.steps) == len(new.steps) == len(facts.steps))
    a, b = (_samples_per_epoch(trace.steps, {(e.fit, e.epoch) for e in facts.steps}) for trace in (old, new))
    if a and b:
        yield Row("samples per epoch", brief(a), brief(b), a == b)
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
    return figure(1.0 + math.fsum(excess for excess, _ in weighed) / len(weighed), 4)


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
    return first_known(facts, BATCH_NORM, LAST_BATCH, CLASS_WEIGHTED, OTHER_BATCHES, GOES_ON)
