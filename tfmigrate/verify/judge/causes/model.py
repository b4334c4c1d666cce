"""Causes in the model: its weights, what is trained of it, where it was built, batch norm, dropout."""

from __future__ import annotations

from collections.abc import Sequence

from tfmigrate.old_keras import freezes_by_batch
from tfmigrate.verify.judge import initializers, weights
from tfmigrate.verify.judge.causes.evidence import (
    Divergence,
    Evidence,
    Kind,
    apart_at_once,
    first_apart,
    first_loss,
    models_on_whole_batches,
    of_first_loss,
)
from tfmigrate.verify.judge.differences import BATCH_NORM, narrower, updates_explain
from tfmigrate.verify.judge.optimizers import number
from tfmigrate.verify.run.trace import Model, Start, minor


def models(e: Evidence) -> Divergence | None:
    if e.old.predictions and not e.new.predictions:
        calls = f"the old one predicted {len(e.old.predictions)} times"
        what = f"trained {len(e.new.steps)} steps" if e.new.steps else "predicted nothing"
        return Divergence("predictions", f"the new script {what}; {calls}")
    if not e.new.steps and not e.old.predictions:
        return Divergence("no training", f"the new script trained nothing; the old one took {len(e.old.steps)} steps")
    for kind in ("trained models", "models that predict"):
        row = e.row(kind)
        if row is not None:
            return Divergence("models", f"{row.old} {kind} became {row.new}", 0, 0)
    row = e.row("weights")
    if row is not None:
        return Divergence("models", f"the model has different weights: {row.old} became {row.new}", 0, 0)
    return None


def trained_by(e: Evidence) -> Divergence | None:
    """A train_step() that multi_gpu_model, which made a plain Model, left out of use."""
    for old, new in zip(e.old.models, e.new.models):
        if new.own_step and not old.own_step:
            what = f"the new script trains with its own {new.own_step}(), which the old parallel model did not have"
            return Divergence("models", what, *(first_loss(e) or (0, 0)))
    return None


def initial_weights(e: Evidence) -> Divergence | None:
    loaded = e.row("loaded from a file")
    if loaded is not None:
        what = "the old model got its weights from a file, the new one did not" if loaded.old else "a file gave weights"
        return Divergence("initial weights", what, 0, 0)
    return _own(e) or _weights_of(e, e.old.models if e.old.predictions else e.old.models[:1])


def _own(e: Evidence) -> Divergence | None:
    """What the scripts themselves give the weights; the runs begin with the old one's all the same."""
    for old, new in zip(e.old.models, e.new.models):
        otherwise = weights.given_otherwise(old, new) if e.row("tensors that a file gives") else []
        if otherwise:
            what = f"a file gives {_first_of(otherwise)} in the old script; the new one has different values there"
            return Divergence("initial weights", f"{what}: check by_name= and the names of the layers", 0, 0)
        asked = initializers.changed(old, new) if e.row("initializers") else []
        if asked:
            part, was, now = asked[0]
            more = f" (and {len(asked) - 1} more)" if asked[1:] else ""
            return Divergence("initial weights", f"the initializer of {part} is {now} instead of {was}{more}", 0, 0)
        drawn = weights.drawn_otherwise(old, new, narrower(e.old)) if e.row("initial values") else []
        if drawn:
            (_, (m, s), (n, t)), names = drawn[0], [name for name, _, _ in drawn]
            what = (
                f"{_first_of(names)} start with a mean of {number(n)} and a spread of {number(t)} instead of "
                f"{number(m)} and {number(s)}: check initializers, weights= and set_weights()"
            )
            return Divergence("initial weights", what, 0, 0)
    return None


def _first_of(names: Sequence[str]) -> str:
    return f"{names[0]} and {len(names) - 1} more" if names[1:] else names[0]


def later_weights(e: Evidence) -> Divergence | None:
    """Of models that are trained after another: they may hold layers of that one, as its training left them."""
    return _weights_of(e, e.old.models[1:])


def _weights_of(e: Evidence, models: Sequence[Model]) -> Divergence | None:
    if e.row("initial weights") is None:
        return None
    for model in models:
        for difference in weights.differences(e.old, e.new, model.index, "initial") or ():
            if difference.absolute > 1e-7:
                what = f"initial weights differ: {difference.name} by up to {difference.absolute:.3g}"
                return Divergence("initial weights", what, 0, 0)
    return None


def built(e: Evidence) -> Divergence | None:
    """The model computes or learns differently because of its own settings."""
    kinds: tuple[tuple[str, Kind, str], ...] = (
        ("trainable weights", "frozen layers", "{} are trained where {} were"),
        ("computed in", "dtype", "computed in {} where it was {}"),
        ("constraints", "constraint", "constraints of weights {} where they were {}"),
    )
    for name, kind, words in kinds:
        if (row := e.row(name)) is not None:
            hint = "; if the script sets `trainable` after compile(), see TFM401" if kind == "frozen layers" else ""
            return Divergence(kind, words.format(row.new, row.old) + hint, 0, 0)
    return None


def replicas(e: Evidence) -> Divergence | None:
    row = e.row("replicas")
    if row is None:
        return None
    does = "predicts" if e.old.predictions else "was trained"
    many = "replica" if row.new == 1 else "replicas"
    return Divergence("scope", f"the model {does} on {row.new} {many} instead of {row.old}", 0, 0)


def stood_still(e: Evidence) -> Divergence | None:
    """Layers that are frozen, or no longer, in a later training call, which the first one does not show."""
    for model in e.old.models:
        for this, other, words in (
            (e.new, e.old, "that used to be trained stay unchanged"),
            (e.old, e.new, "that used to stay unchanged are trained"),
        ):
            names = weights.still(this, other, model.index)
            if names and first_apart(e) is not None:
                which = f"{names[0]}, ..." if names[1:] else names[0]
                many = f"{len(names)} weight tensor{'s' if names[1:] else ''} ({which})"
                what = f"{many} {words}: check `trainable`, and compile() after it"
                return Divergence("frozen layers", what, *(first_loss(e) or (0, 0)))
    return None


def momentum(e: Evidence) -> Divergence | None:
    """Moving averages that go another way than several updates a step explain."""
    if e.row("final non-trainable weights") is None:
        return None
    for model in e.old.models:
        ratio = weights.statistics_ratio(e.old, e.new, model.index)
        if ratio is not None and not updates_explain(e.old, e.new, model):
            most = model.replicas + 1
            what = (
                f"the first step moves the moving averages of batch norm {number(1 / ratio)} times as far as before; "
                f"multi_gpu_model updated them up to {most} times per step, which explains 1/{most} to 1: check "
                "momentum"
            )
            return Divergence("batch norm", what, 0, 0)
    return None


def whole_batches(e: Evidence) -> Divergence | None:
    """train_on_batch of Keras 3 gives every replica the whole batch, which batch norm alone feels: at the first step of
    a model that has it. Beside the name of a mistake it is none; see `judge/whole_batches` for what shows it."""
    first = first_apart(e)
    if first is None or first != next(step for step in e.comparison.steps if step.fit == first.fit):
        return None
    model = next((fit.model for fit in e.new.fits if fit.index == first.fit), None)
    if model not in models_on_whole_batches(e.old, e.new):
        return None
    why = (
        ": train_on_batch of Keras 3 gives each replica the whole batch, so batch norm takes its statistics from "
        "all samples instead of each replica's part (TFM432)"
    )
    return of_first_loss("batch norm", first, why)


def frozen_batch_norm(e: Evidence) -> Divergence | None:
    """A frozen BatchNormalization normalizes by its moving statistics in TensorFlow 2, in training as well; before, and
    in standalone Keras, by those of the batch."""
    if not (_by_the_batch(e.old.start) and not _by_the_batch(e.new.start)):
        return None
    if not any(weights.statistics(e.new, model.index) for model in e.new.models):
        return None
    first = apart_at_once(e)
    gradients = [row.what for row in e.comparison.broken if row.what.startswith("first gradient")]
    for model in e.new.models:
        layers = [
            name.rpartition("/")[0]
            for name, _, trainable in model.weights
            if not trainable and name.partition(":")[0].endswith(("/gamma", "/beta"))
        ]
        frozen = [layer for layer in layers if layer.rpartition("/")[2] not in model.own_batch_norms]
        if not frozen:
            continue
        why = (
            f": {frozen[0]} is frozen, and since TensorFlow 2 a frozen BatchNormalization uses its moving mean and "
            "variance instead of those of the batch (TFM445)"
        )
        if first is not None:
            return of_first_loss("batch norm", first, why)
        if any(what.endswith(("ratio", f"model {model.index}")) for what in gradients):
            return Divergence("batch norm", f"the first gradient differs{why}", 0, 0)
    return None


def _by_the_batch(start: Start | None) -> bool:
    return start is not None and freezes_by_batch(start.flavour, minor(start.tensorflow))


def batch_norm(e: Evidence) -> Divergence | None:
    first = first_apart(e)
    if first is None or first == e.comparison.steps[0]:  # they are what both began with then
        return None
    if not any(known.name == BATCH_NORM for known in e.comparison.known):
        return None
    what = "the moving statistics of batch norm differ and so do the losses"
    return Divergence("moving averages", what, *(first_loss(e) or ()))


def own_dropout(e: Evidence) -> Divergence | None:
    """Of the script's own code, which takes the same numbers in both runs, so that its losses show it."""
    row = e.row("dropout of the script's own code")
    return None if row is None else Divergence("dropout", f"{row.old} became {row.new}", *(first_loss(e) or ()))


def dropout(e: Evidence) -> Divergence | None:
    """Neutralised in an aligned run, so no loss shows it."""
    row = e.row("dropout and noise asked for")
    return None if row is None else Divergence("dropout", f"dropout and noise {row.old} became {row.new}")
