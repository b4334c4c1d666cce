"""Causes in the loss: which one, its weights and scale, what is added to it, and its gradient."""

from __future__ import annotations

import math

from tfmigrate.old_keras import LOSS_WORDS, SHORT_LOSSES
from tfmigrate.verify.judge import weights
from tfmigrate.verify.judge.causes.evidence import (
    Divergence,
    Evidence,
    apart_at_once,
    first_apart,
    first_loss,
    of_first_loss,
    where,
    whole_ratio,
)
from tfmigrate.verify.judge.optimizers import pair_compiles


def sample_weights(e: Evidence) -> Divergence | None:
    for what in ("class weights", "sample weights"):
        row = e.row(what)
        if row is not None:
            change = "are gone" if row.old else "were added"
            return Divergence("sample weights", f"{what} {change}", *(first_loss(e) or (0, 0)))
    row = e.row("mean weight of a sample")
    if row is None:
        return None
    if "none" in (row.old, row.new):
        what = f"the samples {'have no weights any more' if row.new == 'none' else 'were given weights'}"
    else:
        what = f"the samples have different weights (mean {row.old} -> {row.new})"
    what += ": check class_weight, sample_weight and the third element that a generator or a dataset yields"
    return Divergence("sample weights", what, *(first_loss(e) or (0, 0)))


def loss_weights(e: Evidence) -> Divergence | None:
    row = e.row("loss weights")
    if row is None:
        return None
    return Divergence(
        "loss weights", f"the loss weights of the outputs, {row.old}, became {row.new}", *(first_loss(e) or (0, 0))
    )


def regularizers(e: Evidence) -> Divergence | None:
    row = e.row("regularizers")
    if row is None:
        return None
    return Divergence("regularizer", f"regularizers {row.old} became {row.new}", *(first_loss(e) or (0, 0)))


MODEL_FUNCTION = "model_fn's"
"""What the probe calls the loss of an Estimator, which has no name."""


def loss_function(e: Evidence) -> Divergence | None:
    """Another loss by name, where the first step's value differs already."""
    if apart_at_once(e) is None:
        return None
    for a, b in pair_compiles(e.old, e.new):
        if MODEL_FUNCTION not in (a.loss, b.loss) and _loss_name(a.loss) != _loss_name(b.loss):
            return Divergence("loss", f"the loss {a.loss} became {b.loss}", *(first_loss(e) or (0, 0)))
    return None


def _loss_name(loss: str) -> str:
    """`MeanSquaredError`, `mean_squared_error` and `mse` are one."""
    return _TODAY.get(_plain(loss), _plain(loss))


def _plain(loss: str) -> str:
    return "".join(c for c in loss.lower() if c.isalnum())


_TODAY = {_plain(old): _plain(new) for old, new in (*LOSS_WORDS.items(), *SHORT_LOSSES.items())}


def loss_scale(e: Evidence) -> Divergence | None:
    """A whole-number ratio of the first losses, or of the first gradients: a sum or a scale over the replicas."""
    if e.comparison.steps:
        first = e.comparison.steps[0]
        ratio = first.new / first.old if first.old and math.isfinite(first.new) else 1.0
        if (whole := whole_ratio(ratio)) and _scales_gradient(e, ratio):
            what = f"the loss of the first step is {whole} the old one"
            return Divergence("loss scale", what, first.epoch, first.step)
    for model in e.old.models:
        gradient = weights.gradient_ratio(e.old, e.new, model.index)
        if gradient is not None and gradient.is_scaled and (whole := whole_ratio(gradient.ratio)):
            return Divergence("loss scale", f"the first gradient is {whole} the old one", 0, 0)
    return None


def _scales_gradient(e: Evidence, ratio: float) -> bool:
    """Whether the first gradient grew with the first loss, or not at all: those of another loss do neither."""
    gradient = weights.gradient_ratio(e.old, e.new, e.old.models[0].index) if e.old.models else None
    if gradient is None:
        return True
    band = max(weights.SCALE_BAND, gradient.rounding)
    return gradient.is_scaled and any(math.isclose(gradient.ratio, each, rel_tol=band) for each in (ratio, 1.0))


def extra_losses(e: Evidence) -> Divergence | None:
    """What layers add to the loss: multi_gpu_model counted it more than once (docs/semantics.md)."""
    first = apart_at_once(e)
    if first is None:
        return None
    if not any(m.adds_losses or any(r.startswith("activity ") for r in m.regularizers) for m in e.old.models):
        return None
    why = (
        ": layers add their own losses (add_loss, or activity_regularizer), which multi_gpu_model counted more than "
        "once, or left out in Keras before 2.3, and a strategy counts once (TFM407); if the new script compensates "
        "for that, something else in its loss or its model differs"
    )
    return of_first_loss("loss", first, why)


def mask(e: Evidence) -> Divergence | None:
    """Of padded sequences, where it reaches the loss: Kerases take other means of what it leaves (measured)."""
    first = apart_at_once(e)
    if first is None:
        return None
    if not any(model.masked for model in (*e.old.models, *e.new.models)):
        return None
    why = (
        ", and a mask (mask_zero=, Masking) reaches it: Keras 2.3 divides the sum over the unmasked steps by the "
        "number of all steps, Keras 3 by the number of unmasked ones, and each replica by its own"
    )
    return of_first_loss("loss", first, why)


def gradient(e: Evidence) -> Divergence | None:
    row = e.row("first gradient")
    if row is None or not e.comparison.losses_agree:
        return None
    return Divergence("gradient", "the first gradient differs though the loss agrees", 0, 0)


def remainder(e: Evidence) -> Divergence | None:
    """Everything agrees up to a batch that does not divide by the replicas, and no longer from there on."""
    steps, first = e.comparison.steps, first_apart(e)
    uneven = next((i for i, pair in enumerate(steps) if pair.uneven and not pair.shared), None)
    if uneven is None or first is None or steps.index(first) < uneven:
        return None
    pair = steps[uneven]
    size = max(p.difference for p in steps[uneven:])
    what = (
        f"losses diverge by up to {size:.3g} from the batch at {where(pair.epoch, pair.step)} on, "
        "which does not divide by the replicas"
    )
    return Divergence("remainder batch", what, pair.epoch, pair.step)
