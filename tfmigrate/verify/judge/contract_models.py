"""The lines of the contract about models: how they are built, what they predict, their weights."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tfmigrate.verify.judge import initializers, weights
from tfmigrate.verify.judge.align import same_inputs
from tfmigrate.verify.judge.contract_rows import Facts, Row, brief, figure, first_known
from tfmigrate.verify.judge.differences import (
    BATCH_NORM,
    REMAINDER,
    REMAINDER_LIMIT,
    WEIGHTS_BAND,
    narrower,
)
from tfmigrate.verify.run.trace import Model


def models(facts: Facts) -> Iterator[Row]:
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


def predictors(facts: Facts) -> Iterator[Row]:
    """Of a script that trains nothing. What its models do in training alone makes no difference."""
    old, new = facts.old.models, facts.new.models
    yield Row("models that predict", len(old), len(new), len(old) == len(new))
    for a, b in zip(old, new):
        yield from _size(a, b, facts)
        yield _origin(a, b, facts)
        yield from _precision(a, b, facts)


def predictions(facts: Facts) -> Iterator[Row]:
    old, new = facts.old.predictions, facts.new.predictions
    if facts.new.steps:
        yield Row("training steps", 0, len(facts.new.steps), False)
    yield Row("calls that predict", len(old), len(new), len(old) == len(new))
    a, b = ([call.samples for call in calls if call.samples is not None] for calls in (old, new))
    if a and b:
        totals = (sum(a), sum(b)) if a == b or sum(a) != sum(b) else (brief(a), brief(b))
        yield Row("rows predicted", *totals, a == b)
    compared = [same for x, y in zip(old, new) if (same := same_inputs(x, y, facts.band)) is not None]
    if compared:
        yield Row("inputs with the same content", len(compared), sum(compared), all(compared))


def _of(what: str, model: Model, facts: Facts) -> str:
    return what if len(facts.old.models) == 1 else f"{what}, model {model.index}"


def _trainable(model: Model) -> list[int]:
    return [i for i, (_, _, trainable) in enumerate(model.weights) if trainable]


def _tensors(count: int) -> str:
    return f"{count} tensors"


def _parts(count: int) -> str:
    return f"{count} of layers"


def _count(model: Model) -> str:
    return f"{sum(math.prod(shape) for _, shape, _ in model.weights):,} in {len(model.weights)} tensors"


def weights_of_models(facts: Facts) -> Iterator[Row]:
    old, new = facts.old, facts.new
    for model in old.models:
        initial = weights.differences(old, new, model.index, "initial")
        if initial is not None:
            size = max((d.absolute for d in initial), default=0.0)
            yield Row(_of("initial weights, largest difference", model, facts), 0.0, figure(size), size <= 1e-7)
        gradient = weights.gradient_ratio(old, new, model.index)
        if gradient is not None:
            same = gradient.difference <= max(WEIGHTS_BAND * facts.band, 10 * gradient.rounding)
            yield Row(_of("first gradient, ratio", model, facts), 1.0, figure(gradient.ratio, 6), same)
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
                known = None if same or size > limit else first_known(facts, excuse)
                what = _of(f"final {kind} weights, largest relative difference", model, facts)
                yield Row(what, 0.0, figure(size), same, known)
