"""Why two runs differ: the first evidence, in the order in which one thing leads to the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tfmigrate.verify.judge.causes import data, loss, model, optimizer, predictions
from tfmigrate.verify.judge.causes.evidence import Divergence, Evidence, first_apart, where
from tfmigrate.verify.judge.compare import Comparison
from tfmigrate.verify.run.trace import Trace


def find(old: Trace, new: Trace, comparison: Comparison) -> Divergence | None:
    """The first thing that differs, or None when the runs are equivalent."""
    if comparison.equivalent:
        return None
    evidence = Evidence(old, new, comparison)
    for look in SUSPECTS:
        divergence = look(evidence)
        if divergence is not None:
            return _with_call(evidence, divergence)
    return _with_call(evidence, _unknown(evidence))


def _with_call(e: Evidence, divergence: Divergence) -> Divergence:
    first = first_apart(e)
    if first is None or len(e.old.fits) < 2 or (divergence.epoch, divergence.step) != (first.epoch, first.step):
        return divergence
    return replace(divergence, call=first.fit)


def of_validation(old: Trace, new: Trace, comparison: Comparison) -> Divergence | None:
    """What differs in the validation alone, whatever else does."""
    return data.validation(Evidence(old, new, comparison))


def _unknown(e: Evidence) -> Divergence:
    first = first_apart(e)
    if first is not None:
        change = f"{first.old:.6g} -> {first.new:.6g}"
        if first == e.comparison.steps[0]:
            what = (
                f"the first loss differs ({change}), from the same weights and the same batch: the model or its loss "
                "computes something else; check activations and masks, loss options (from_logits, label_smoothing), "
                "loss_weights, and the values of class and sample weights"
            )
        else:
            size = e.comparison.max_relative_difference
            call = f" of training call {first.fit}" if first.fit else ""
            what = f"losses diverge from {where(first.epoch, first.step)}{call} on ({change}), by up to {size:.2g}"
            what += "; the first loss and gradient agree" if e.row("first gradient") is None else ""
            if (moved := optimizer.clipped(e) or optimizer.moved_epsilon(e)) is not None:
                return Divergence("unknown", f"{what}; {moved}", first.epoch, first.step)
        return Divergence("unknown", f"unknown: {what}", first.epoch, first.step)
    what = ", ".join(row.what for row in e.comparison.broken) or "there is no step that both took"
    return Divergence("unknown", f"unknown: {what}")


SUSPECTS: tuple[Callable[[Evidence], Divergence | None], ...] = (
    model.models,
    model.initial_weights,
    data.epochs,
    data.counted_from,
    data.batches,
    model.built,
    loss.sample_weights,
    loss.loss_weights,
    loss.regularizers,
    model.trained_by,
    loss.loss_scale,
    loss.loss_function,
    optimizer.update_rule,
    optimizer.learning_rate,
    model.stood_still,
    predictions.rows,
    model.replicas,
    model.frozen_batch_norm,
    loss.extra_losses,
    loss.mask,
    model.whole_batches,
    predictions.predictions,
    loss.remainder,
    model.momentum,
    model.own_dropout,
    model.batch_norm,
    data.callbacks,
    loss.gradient,
    data.ended,
    data.other_batches,
    model.later_weights,
    data.shuffle,
    model.dropout,
    data.validation,
)
"""In the order in which one thing leads to the next: other data also gives other losses, never the reverse."""
