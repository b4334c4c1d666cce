"""Why two runs differ: the first evidence, in the order in which one thing leads to the next."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from . import weights
from .align import PredictionPair, StepPair, same_batch
from .compare import Comparison
from .contract import BATCH_NORM, Row, updates_explain
from .optimizers import (
    EPSILON_MOVED,
    changed_settings,
    describe,
    formula,
    number,
    optimizer_name,
    pair_compiles,
)
from .trace import Model, Step, Trace, minor

Kind = Literal[
    "crash",
    "no training",
    "models",
    "scope",
    "initial weights",
    "frozen layers",
    "dtype",
    "epochs",
    "batch size",
    "data",
    "shuffle",
    "loss weights",
    "regularizer",
    "dropout",
    "loss",
    "loss scale",
    "learning rate",
    "update rule",
    "remainder batch",
    "batch norm",
    "validation",
    "rows",
    "predictions",
    "unknown",
]

OLD_DEFAULTS = {
    ("adadelta", "learning_rate"): (1.0, 0.001),
    ("adagrad", "learning_rate"): (0.01, 0.001),
    ("adamax", "learning_rate"): (0.002, 0.001),
    ("nadam", "learning_rate"): (0.002, 0.001),
    ("adagrad", "initial_accumulator_value"): (0.0, 0.1),
}
"""Defaults of standalone Keras up to 2.3 and of tf.keras (SEMANTICS section 3)."""

RATIO_BAND = 1e-3
"""How near to a whole number a ratio must lie to be called that number."""

REORDERED = 1e-2
"""Rows in another order differ by more; less is noise, which can leave a norm as it was."""


@dataclass(frozen=True)
class Divergence:
    """Where two runs part and why; epoch and step count from 0 and are None where no single step shows it."""

    kind: Kind
    cause: str
    epoch: int | None = None
    step: int | None = None
    call: int | None = None
    """Of several training calls the one where the losses part there, counted from 0."""


@dataclass(frozen=True)
class Evidence:
    old: Trace
    new: Trace
    comparison: Comparison

    def row(self, start: str) -> Row | None:
        """The first broken row of the contract whose name begins so."""
        return next((row for row in self.comparison.broken if row.what.startswith(start)), None)


def find(old: Trace, new: Trace, comparison: Comparison) -> Divergence | None:
    """The first thing that differs, or None when the runs are equivalent."""
    if comparison.equivalent:
        return None
    evidence = Evidence(old, new, comparison)
    for look in SUSPECTS:
        found = look(evidence)
        if found is not None:
            return _with_call(evidence, found)
    return _with_call(evidence, _unknown(evidence))


def _with_call(e: Evidence, found: Divergence) -> Divergence:
    first = _first_apart(e)
    if first is None or len(e.old.fits) < 2 or (found.epoch, found.step) != (first.epoch, first.step):
        return found
    return replace(found, call=first.fit)


def _models(e: Evidence) -> Divergence | None:
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
        return Divergence("models", f"the model has other weights: {row.old} became {row.new}", 0, 0)
    return None


def _initial_weights(e: Evidence) -> Divergence | None:
    loaded = e.row("loaded from a file")
    if loaded is not None:
        what = "a file gave the old model its weights, and the new one none" if loaded.old else "a file gave weights"
        return Divergence("initial weights", what, 0, 0)
    return _weights_of(e, e.old.models if e.old.predictions else e.old.models[:1])


def _later_weights(e: Evidence) -> Divergence | None:
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


def _built(e: Evidence) -> Divergence | None:
    """The model computes or learns otherwise by its own settings."""
    kinds: tuple[tuple[str, Kind, str], ...] = (
        ("trainable weights", "frozen layers", "{} are trained where {} were"),
        ("computed in", "dtype", "computed in {} where it was {}"),
    )
    for name, kind, words in kinds:
        if (row := e.row(name)) is not None:
            hint = "; where the script sets `trainable` after compile(), see TFM401" if kind == "frozen layers" else ""
            return Divergence(kind, words.format(row.new, row.old) + hint, 0, 0)
    return None


def _epochs(e: Evidence) -> Divergence | None:
    row = e.row("epochs asked for")
    if row is None:
        return None
    what = f"{row.old} epochs became {row.new}{_times(row.new / row.old) if row.old else ''}"
    if len(e.old.fits) != len(e.new.fits):
        what += f"; {len(e.old.fits)} training calls became {len(e.new.fits)}"
    return Divergence("epochs", what)


def _counted_from(e: Evidence) -> Divergence | None:
    """`initial_epoch`: a schedule or a file name that goes by the epoch's number is another then."""
    for fit, (old, new) in _epochs_taken(e).items():
        if old and new and min(old) != min(new):
            what = f"the epochs count from {min(new)} where they counted from {min(old)} (initial_epoch)"
            return Divergence("epochs", what, min(new), 0, fit if len(e.old.fits) > 1 else None)
    return None


def _ended(e: Evidence) -> Divergence | None:
    """A training call went on for other epochs than the old one, as asked by a callback, and not for its data: what
    both took is the same."""
    if not _whole_epochs(e) or _first_apart(e) is not None:
        return None
    for fit, (old, new) in _epochs_taken(e).items():
        if len(old) == len(new):
            continue
        ended = f"training ended after {_epochs_of(new)} where it ended after {_epochs_of(old)}"
        validation = _validation(e)
        if validation is not None:
            return replace(validation, cause=f"{validation.cause}, and {ended}")
        what = f"{ended}, though all losses to there agree: look at EarlyStopping, its monitor and its patience"
        return Divergence("data", what, *_first_missing(e), fit if len(e.old.fits) > 1 else None)
    return None


def _epochs_of(taken: set[int]) -> str:
    return f"{len(taken)} epoch{'' if len(taken) == 1 else 's'}"


def _epochs_taken(e: Evidence) -> dict[int, tuple[set[int], set[int]]]:
    """By training call, the numbers of the epochs in which the old and the new run took steps."""
    taken: dict[int, tuple[set[int], set[int]]] = {}
    for which, trace in enumerate((e.old, e.new)):
        for step in trace.steps:
            taken.setdefault(step.fit, (set(), set()))[which].add(step.epoch)
    return taken


def _whole_epochs(e: Evidence) -> bool:
    """Whether all that one run took and the other did not are last epochs of a training call that both began."""
    taken = _epochs_taken(e)
    old, new = ({(s.fit, s.epoch, s.step) for s in trace.steps} for trace in (e.old, e.new))
    return old != new and all(
        fit in taken and bool(taken[fit][0] and taken[fit][1]) and epoch > min(map(max, taken[fit]))
        for fit, epoch, _ in old ^ new
    )


def _batches(e: Evidence) -> Divergence | None:
    content_alone = e.row("batches") is not None and e.row("global batch size") is None
    first = _data_apart(e) if content_alone else None
    # A GAN trains on what it made: other data may be what other settings or other training led to.
    return None if first and first.sketch else _other_batches(e)


def _other_batches(e: Evidence) -> Divergence | None:
    size, steps = e.row("global batch size"), e.row("steps")
    if size is not None:
        ratio = _times(size.new / size.old)
        return Divergence("batch size", f"batches of {size.new} where {size.old} was asked for{ratio}", *_first_data(e))
    if e.row("batches") is not None:
        epoch, step = _first_data(e)
        what = "the same batches in another order" if _reordered(e) else "batches with other content"
        return Divergence("data", f"{what}, first at {_where(epoch, step)}{_skipped(e)}", epoch, step)
    samples = e.row("samples per epoch")
    if samples is not None:
        return Divergence("data", f"{samples.old} samples an epoch became {samples.new}", *_first_missing(e))
    if steps is not None and not _whole_epochs(e):
        ratio = _times(steps.new / steps.old) if steps.old else ""
        return Divergence("data", f"{steps.old} steps became {steps.new}{ratio}", *_first_missing(e))
    return None


def _skipped(e: Evidence) -> str:
    """A plain generator under a strategy of Keras 3, past the first batches."""
    first = _data_apart(e)
    fit = next((fit for fit in e.new.fits if first is not None and fit.index == first.fit), None)
    if fit is None or fit.source != "generator" or first == e.old.steps[0]:
        return ""
    if e.new.start is None or not e.new.start.keras.startswith("3.") or all(m.replicas < 2 for m in e.new.models):
        return ""
    return ": Keras 3 under a strategy skips batches of a plain Python generator (TFM402)"


def _reordered(e: Evidence) -> bool:
    old, new = (sorted(s.fingerprint or "" for s in trace.steps) for trace in (e.old, e.new))
    return old == new and all(old)


def _first_data(e: Evidence) -> tuple[int, int]:
    """Where the first batch differs."""
    first = _data_apart(e)
    return (first.epoch, first.step) if first else (0, 0)


def _data_apart(e: Evidence) -> Step | None:
    """The old run's first step whose batch differs."""
    others = {(s.fit, s.epoch, s.step): s for s in e.new.steps}
    for old in e.old.steps:
        new = others.get((old.fit, old.epoch, old.step))
        if new is None or old.samples != new.samples or same_batch(old, new, e.comparison.tolerance) is False:
            return old
    return None


def _first_missing(e: Evidence) -> tuple[int | None, int | None]:
    """The first step that one run took and the other did not."""
    old = {(s.fit, s.epoch, s.step) for s in e.old.steps}
    new = {(s.fit, s.epoch, s.step) for s in e.new.steps}
    first = min(old ^ new, default=None)
    return (None, None) if first is None else first[1:]


def _loss_weights(e: Evidence) -> Divergence | None:
    for what in ("class weights", "sample weights"):
        row = e.row(what)
        if row is not None:
            change = "are gone" if row.old else "were added"
            return Divergence("loss weights", f"{what} {change}", *(_first_loss(e) or (0, 0)))
    return None


def _regularizers(e: Evidence) -> Divergence | None:
    row = e.row("regularizers")
    if row is None:
        return None
    return Divergence("regularizer", f"regularizers {row.old} became {row.new}", *(_first_loss(e) or (0, 0)))


def _loss_function(e: Evidence) -> Divergence | None:
    """Another loss by name, where the first step's value differs already."""
    first = _first_apart(e)
    if first is None or first != e.comparison.steps[0]:
        return None
    for a, b in pair_compiles(e.old, e.new):
        if MODEL_FUNCTION not in (a.loss, b.loss) and _loss_name(a.loss) != _loss_name(b.loss):
            return Divergence("loss", f"the loss {a.loss} became {b.loss}", *(_first_loss(e) or (0, 0)))
    return None


MODEL_FUNCTION = "model_fn's"
"""What the probe calls the loss of an Estimator, which has no name."""

SHORT_LOSSES = {
    "mse": "meansquarederror",
    "mae": "meanabsoluteerror",
    "mape": "meanabsolutepercentageerror",
    "msle": "meansquaredlogarithmicerror",
    "kld": "kullbackleiblerdivergence",
    "kldivergence": "kullbackleiblerdivergence",
    "cosineproximity": "cosinesimilarity",
}


def _loss_name(loss: str) -> str:
    """`MeanSquaredError`, `mean_squared_error` and `mse` are one."""
    plain = "".join(c for c in loss.lower() if c.isalnum())
    return SHORT_LOSSES.get(plain, plain)


def _loss_scale(e: Evidence) -> Divergence | None:
    """A whole-number ratio of the first losses, or of the first gradients: a sum or a scale over the replicas."""
    if e.comparison.steps:
        first = e.comparison.steps[0]
        ratio = first.new / first.old if first.old and math.isfinite(first.new) else 1.0
        if (whole := _whole(ratio)) and _scales_gradient(e, ratio):
            what = f"the loss of the first step is {whole} the old one"
            return Divergence("loss scale", what, first.epoch, first.step)
    for model in e.old.models:
        gradient = weights.gradient_ratio(e.old, e.new, model.index)
        if gradient is not None and gradient.is_scaled and (whole := _whole(gradient.ratio)):
            return Divergence("loss scale", f"the first gradient is {whole} the old one", 0, 0)
    return None


def _scales_gradient(e: Evidence, ratio: float) -> bool:
    """Whether the first gradient grew with the first loss, or not at all: those of another loss do neither."""
    gradient = weights.gradient_ratio(e.old, e.new, e.old.models[0].index) if e.old.models else None
    if gradient is None:
        return True
    band = max(weights.SCALE_BAND, gradient.rounding)
    return gradient.is_scaled and any(math.isclose(gradient.ratio, each, rel_tol=band) for each in (ratio, 1.0))


def _update_rule(e: Evidence) -> Divergence | None:
    at = _first_loss(e) or (0, 0)
    for a, b in pair_compiles(e.old, e.new):
        if optimizer_name(a) != optimizer_name(b):
            return Divergence("update rule", f"{describe(a)} became {describe(b)}", *at)
        changed = changed_settings(a, b)
        if changed:
            words = ", ".join(_change(optimizer_name(a), key, *values) for key, values in changed.items())
            if "learning_rate" in changed:
                return Divergence("learning rate", f"{optimizer_name(a)} {words}", *at)
            return Divergence("update rule", f"{describe(a)} became {describe(b)}: {words}{formula(a, b)}", *at)
    return None


def _learning_rate(e: Evidence) -> Divergence | None:
    if e.row("learning rate") is None:
        return None
    others = {(s.fit, s.epoch, s.step): s.learning_rate for s in e.new.steps}
    for old in e.old.steps:
        new = others.get((old.fit, old.epoch, old.step))
        if old.learning_rate is not None and new is not None and not math.isclose(old.learning_rate, new, rel_tol=1e-6):
            ratio = _times(new / old.learning_rate) if old.learning_rate else ""
            change = f"learning rate {old.learning_rate:.6g} -> {new:.6g}{ratio}"
            return Divergence("learning rate", f"{change} from {_where(old.epoch, old.step)} on", old.epoch, old.step)
    return None


def _change(optimizer: str, key: str, old: object, new: object) -> str:
    if OLD_DEFAULTS.get((optimizer, key)) == (_plain(old), _plain(new)):
        reason = ": changed default"
    elif isinstance(old, int | float) and isinstance(new, int | float) and old:
        reason = _times(new / old)
    else:
        reason = ""
    return f"{key} {number(old)} -> {number(new)}{reason}"


def _plain(value: object) -> object:
    """float32 values as the decimal they were written as; a missing setting as 0."""
    return float(f"{value:.6g}") if isinstance(value, int | float) else 0.0 if value is None else value


def _replicas(e: Evidence) -> Divergence | None:
    row = e.row("replicas")
    if row is None:
        return None
    does = "predicts" if e.old.predictions else "was trained"
    many = "replica" if row.new == 1 else "replicas"
    return Divergence("scope", f"the model {does} on {row.new} {many} where {row.old} were asked for", 0, 0)


def _stood_still(e: Evidence) -> Divergence | None:
    """Layers that are frozen, or no longer, in a later training call, which the first one does not show."""
    for model in e.old.models:
        for one, other, words in (
            (e.new, e.old, "that were trained stay as they were"),
            (e.old, e.new, "that stayed as they were are trained"),
        ):
            names = weights.still(one, other, model.index)
            if names and _first_apart(e) is not None:
                which = f"{names[0]}, ..." if names[1:] else names[0]
                many = f"{len(names)} weight tensor{'s' if names[1:] else ''} ({which})"
                what = f"{many} {words}: look at `trainable`, and at compile() after it"
                return Divergence("frozen layers", what, *(_first_loss(e) or (0, 0)))
    return None


def _rows(e: Evidence) -> Divergence | None:
    """Other rows go in, or come out."""
    apart = e.row("calls that predict")
    if apart is not None:
        return Divergence("rows", f"{apart.old} calls that predict became {apart.new}{_times(apart.new / apart.old)}")
    pairs = e.comparison.predictions
    first = next((p for p in pairs if p.old.samples != p.new.samples), None)
    if first is not None:
        old, new = first.old.samples or 0, first.new.samples or 0
        ratio = _times(new / old) if old else ""
        if ratio and first.new.call == "predict_on_batch" and e.new.start and e.new.start.keras.startswith("3."):
            ratio += " (predict_on_batch of Keras 3 answers once for each replica)"
        return Divergence("rows", f"{old} rows became {new}{ratio}, first in {_call(first)}", None, first.index)
    first = next((p for p in pairs if same_batch(p.old, p.new, e.comparison.tolerance) is False), None)
    if first is not None:
        return Divergence("data", f"what goes in is not the same, first in {_call(first)}", None, first.index)
    return None


def _predictions(e: Evidence) -> Divergence | None:
    """Other values from the same weights and inputs."""
    if e.comparison.losses_agree:
        return None
    first = next((p for p in e.comparison.predictions if not p.difference <= e.comparison.tolerance), None)
    if first is None:
        return None
    if math.isinf(first.difference):
        shapes = [" and ".join(str(output.shape) for output in call.outputs) for call in (first.old, first.new)]
        if shapes[0] == shapes[1]:
            return Divergence("predictions", f"one of them is not a number, first in {_call(first)}", None, first.index)
        return Divergence("predictions", f"arrays of {shapes[0]} became {shapes[1]}, first in {_call(first)}")
    norms = [math.hypot(*(norm for out in call.outputs for norm, _ in out.sketches)) for call in (first.old, first.new)]
    size = e.comparison.max_relative_difference
    if size >= REORDERED and abs(norms[0] - norms[1]) <= RATIO_BAND * size * norms[0]:
        what = f"the rows come out in another order, or with another sign, first in {_call(first)}"
    else:
        what = f"the predictions differ by up to {size:.3g} of the largest, first in {_call(first)}"
    return Divergence("predictions", what, None, first.index)


def _call(pair: PredictionPair) -> str:
    return f"call {pair.index}"


def _extra_losses(e: Evidence) -> Divergence | None:
    """What layers add to the loss: multi_gpu_model counted it more than once (SEMANTICS section 2)."""
    first = _first_apart(e)
    if first is None or first != e.comparison.steps[0]:
        return None
    if not any(m.adds_losses or any(r.startswith("activity ") for r in m.regularizers) for m in e.old.models):
        return None
    what = (
        f"the first loss differs ({first.old:.6g} -> {first.new:.6g}): layers add losses of their own (add_loss, or "
        "activity_regularizer), which multi_gpu_model counted more than once, and a strategy counts once (TFM407)"
    )
    return Divergence("loss", what, first.epoch, first.step)


def _gradient(e: Evidence) -> Divergence | None:
    row = e.row("first gradient")
    if row is None or not e.comparison.losses_agree:
        return None
    return Divergence("update rule", "the first gradient differs though the loss agrees", 0, 0)


def _remainder(e: Evidence) -> Divergence | None:
    """Everything agrees up to a batch that does not divide by the replicas, and no longer from there on."""
    steps, first = e.comparison.steps, _first_apart(e)
    uneven = next((i for i, pair in enumerate(steps) if pair.uneven and not pair.shared), None)
    if uneven is None or first is None or steps.index(first) < uneven:
        return None
    pair = steps[uneven]
    size = max(p.difference for p in steps[uneven:])
    what = (
        f"losses part by up to {size:.3g} from the batch at {_where(pair.epoch, pair.step)} on, "
        "which does not divide by the replicas"
    )
    return Divergence("remainder batch", what, pair.epoch, pair.step)


def _momentum(e: Evidence) -> Divergence | None:
    """Moving averages that go another way than several updates a step explain."""
    if e.row("final non-trainable weights") is None:
        return None
    for model in e.old.models:
        ratio = weights.statistics_ratio(e.old, e.new, model.index)
        if ratio is not None and not updates_explain(e.old, e.new, model):
            most = model.replicas + 1
            what = (
                f"the first step moves the moving averages of batch norm {number(1 / ratio)} times as far as it did; "
                f"that multi_gpu_model updated them up to {most} times a step explains 1/{most} to 1: look at momentum"
            )
            return Divergence("batch norm", what, 0, 0)
    return None


def _batch_norm(e: Evidence) -> Divergence | None:
    first = _first_apart(e)
    if first is None or first == e.comparison.steps[0]:  # they are what both began with then
        return None
    if not any(known.name == BATCH_NORM for known in e.comparison.known):
        return None
    what = "the moving statistics of batch norm differ and so do the losses"
    return Divergence("batch norm", what, *(_first_loss(e) or ()))


def _shuffle(e: Evidence) -> Divergence | None:
    row = e.row("shuffle")
    if row is None:
        return None
    if row.new == "none":
        return Divergence("shuffle", f"the data is no longer shuffled ({row.old} -> none)")
    return Divergence("shuffle", f"the data is shuffled otherwise ({row.old} -> {row.new})")


def _dropout(e: Evidence) -> Divergence | None:
    """Neutralised in an aligned run, so no loss shows it."""
    row = e.row("dropout and noise asked for")
    return None if row is None else Divergence("dropout", f"dropout and noise {row.old} became {row.new}")


def of_validation(old: Trace, new: Trace, comparison: Comparison) -> Divergence | None:
    """What differs in the validation alone, whatever else does."""
    return _validation(Evidence(old, new, comparison))


def _validation(e: Evidence) -> Divergence | None:
    if (row := e.row("validation samples")) is not None:
        return Divergence("validation", f"{row.old} validation samples became {row.new}")
    if (row := e.row("validation loss")) is not None and e.comparison.losses_agree:
        if row.old is not None and row.new is None:
            return Divergence("validation", "the new script no longer validates, though training agrees")
        old, new = (f"{v:.6g}" if isinstance(v, float) else "none" for v in (row.old, row.new))
        return Divergence("validation", f"the validation loss differs ({old} -> {new}) though training agrees")
    return None


def _unknown(e: Evidence) -> Divergence:
    first = _first_apart(e)
    if first is not None:
        change = f"{first.old:.6g} -> {first.new:.6g}"
        if first == e.comparison.steps[0]:
            what = (
                f"the first loss differs ({change}), from the same weights and the same batch: the model or its loss "
                "computes otherwise; look at activations and masks, at the options of losses (from_logits, "
                "label_smoothing), at loss_weights, and at the values of class and sample weights"
            )
        else:
            size = e.comparison.max_relative_difference
            call = f" of training call {first.fit}" if first.fit else ""
            what = f"losses part from {_where(first.epoch, first.step)}{call} on ({change}), by up to {size:.2g}"
            what += "; the first loss and gradient agree" if e.row("first gradient") is None else ""
            if (moved := _clipped(e) or _moved_epsilon(e)) is not None:
                return Divergence("unknown", f"{what}; {moved}", first.epoch, first.step)
        return Divergence("unknown", f"unknown: {what}", first.epoch, first.step)
    what = ", ".join(row.what for row in e.comparison.broken) or "no step was taken by both"
    return Divergence("unknown", f"unknown: {what}")


CLIPS = ("clipnorm", "clipvalue", "global_clipnorm")


def _clipped(e: Evidence) -> str | None:
    """Keras 3 clips before the replicas' gradients are added up (TFM310), which no setting shows."""
    if e.new.start is None or not e.new.start.keras.startswith("3.") or all(m.replicas < 2 for m in e.new.models):
        return None
    given = {name for compiled in e.new.compiles for name in CLIPS if compiled.config.get(name)}
    if not given:
        return None
    return (
        f"{' and '.join(sorted(given))}: Keras 3 clips the gradients of each replica and adds them up after, which "
        "clips less than the old model's one gradient was; Keras 2 adds them up first (TFM310)"
    )


def _moved_epsilon(e: Evidence) -> str | None:
    """What no setting shows: the place of epsilon (SEMANTICS section 3), which a root near it in size makes felt."""
    name = next((optimizer_name(c) for c in e.old.compiles if optimizer_name(c) in EPSILON_MOVED), None)
    if name is None or e.old.start is None or e.new.start is None:
        return None
    if not minor(e.old.start.tensorflow) < (2, 11) <= minor(e.new.start.tensorflow):
        return None
    return (
        f"{name} adds epsilon to the square root in TensorFlow {e.old.start.tensorflow} and under it from 2.11 on, so "
        "that small gradients take other steps, the less so where epsilon is written as its square (TFM304)"
    )


SUSPECTS: tuple[Callable[[Evidence], Divergence | None], ...] = (
    _models,
    _initial_weights,
    _epochs,
    _counted_from,
    _batches,
    _built,
    _loss_weights,
    _regularizers,
    _loss_scale,
    _loss_function,
    _update_rule,
    _learning_rate,
    _stood_still,
    _rows,
    _replicas,
    _extra_losses,
    _predictions,
    _remainder,
    _momentum,
    _batch_norm,
    _gradient,
    _ended,
    _other_batches,
    _later_weights,
    _shuffle,
    _dropout,
    _validation,
)
"""In the order in which one thing leads to the next: other data also gives other losses, never the reverse."""


def of_crash(old: Trace, new: Trace, comparison: Comparison, error: str) -> Divergence:
    """Why the new script died: the scope where the error says so, else what differed before, else the error itself."""
    if any(sign in error for sign in SCOPE_SIGNS):
        what = f"the new script built its model or optimizer outside the strategy's scope: {shorten(error)}"
        return Divergence("scope", what)
    before = find(old, new, comparison) if new.steps or new.predictions else None
    if before is not None and before.kind in BEFORE_A_CRASH:
        return replace(before, cause=f"{before.cause}; then it died: {shorten(error)}")
    same = comparison.losses_agree and len(new.steps) >= len(old.steps) == len(comparison.steps) > 0
    trained = (
        f"the new script took all {len(old.steps)} steps, whose losses agree, then it" if same else "the new script"
    )
    return Divergence("crash", f"{trained} died: {shorten(error)}{_uneven_first(error)}")


def _uneven_first(error: str) -> str:
    """What Keras 3 says of it names neither the batch nor the replicas (SEMANTICS section 3)."""
    if "AddN" not in error or "same size and shape" not in error:
        return ""
    return (
        "; Keras 3 under a strategy does not take a first batch that does not divide by the replicas, be it of fit, of "
        "its validation or of evaluate: give that one a batch size that does"
    )


BEFORE_A_CRASH: frozenset[Kind] = frozenset(
    {
        "models",
        "initial weights",
        "frozen layers",
        "dtype",
        "epochs",
        "batch size",
        "loss weights",
        "regularizer",
        "dropout",
        "loss",
        "loss scale",
        "learning rate",
        "update rule",
        "shuffle",
        "scope",
    }
)
"""What the steps before a crash show by themselves; that later ones are missing is the crash's own doing."""


def shorten(error: str, length: int = 240) -> str:
    """An error in one line, objects by their class alone; a long one keeps its start, with the type, and the script's
    line at its end."""
    line = re.sub(r"<(?:[\w.]*\.)?(\w+) object at 0x[0-9a-f]+>", r"<\1>", " ".join(_of_graph(error).split()))
    if len(line) <= length:
        return line
    tail = line[line.rfind(" (") :] if line.endswith(")") else ""
    tail = tail if len(tail) < length // 2 else ""
    return f"{line[: length - len(tail) - 4]} ...{tail}"


def _of_graph(error: str) -> str:
    """What a graph died of, without the places in it where that came about, which TensorFlow puts first."""
    head, found, rest = error.partition("Graph execution error:")
    if not found:
        return error
    place = re.search(r" \([^()\s]+:\d+\)$", error)
    kept: list[str] = []
    for line in map(str.strip, rest[: len(rest) - len(place[0]) if place else None].splitlines()):
        if line.startswith(("Traceback", "(1)")) and kept:
            break
        if line and not re.match(
            r"Detected at |<stack traces|File \"|\[\[|\d+ root error|\d+ (successful|derived)", line
        ):
            kept.append(re.sub(r"^\(0\) [A-Z_]+: *", "", line))
    return f"{head}{' '.join(kept)}{place[0] if place else ''}" if kept else error


SCOPE_SIGNS = (
    "Mixing different tf.distribute.Strategy",
    "was not created in the distribution strategy scope",
    "under the scope for tf.distribute.Strategy",
    "different tf.distribute.Strategy",
    "created under a different strategy",
)
"""What TensorFlow 2.4 to 2.21 says to a model, optimizer or variable made outside the scope it is used in."""


def _first_apart(e: Evidence) -> StepPair | None:
    """The first judged step whose losses differ."""
    return next((p for p in e.comparison.judged_steps if not p.difference <= e.comparison.tolerance), None)


def _first_loss(e: Evidence) -> tuple[int, int] | None:
    first = _first_apart(e)
    return None if first is None else (first.epoch, first.step)


def _where(epoch: int, step: int) -> str:
    return f"epoch {epoch}, step {step}"


def _whole(ratio: float) -> str | None:
    """`4 times` or `1/4 of` when the ratio is a whole number other than one, or its inverse."""
    for value, words in ((ratio, "{} times"), (1 / ratio if ratio else 0.0, "1/{} of")):
        nearest = round(value) if math.isfinite(value) else 0
        if nearest >= 2 and abs(value / nearest - 1) <= RATIO_BAND:
            return words.format(nearest)
    return None


def _times(ratio: float) -> str:
    whole = _whole(ratio)
    if whole is None:
        return ""
    return f": x{whole.split()[0]}" if whole.endswith("times") else f": {whole.removesuffix(' of')} of it"
