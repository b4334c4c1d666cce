"""What layers add to the loss by themselves, which multi_gpu_model counted more than once, or not at all."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import is_none, keywords
from tfmigrate.plan.keras.weight_penalty import penalty_of
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.program import attribute_of

_ADDS = (
    "multi_gpu_model counted a loss that a layer adds once for each replica (tf.keras 2.x), or once more (TensorFlow "
    "1.15, and add_loss() of standalone Keras): under a strategy it counts once, so with N GPUs it weighs 1 / N or "
    "1 / (N + 1) of what it did"
)
_OUTSIDE = (
    "; outside of a layer's call(), Keras 3 raises ValueError for a tensor of the model, as it does for what is "
    "computed from one there, and forgets any other value: move it into a layer of your own, or train on Keras 2"
)
_LEFT_OUT = (
    "multi_gpu_model of standalone Keras before 2.3 left out of the loss what was added to a layer after the model was "
    "wrapped: it counts now, as the code says, so a program that was trained with such a Keras trains differently"
)
_BEFORE_2_3 = (2, 3)
_SUMS = (
    "standalone Keras took activity_regularizer as the sum over the batch, tf.keras divides it by the number of "
    "samples: to keep its weight, multiply its strength by the batch size"
)


def check(context: Context) -> Iterator[CallChange]:
    """`add_loss()` and `activity_regularizer=`: reported, because the code does not say which strength is meant."""
    facts = context.facts
    wrapped = False
    version = context.settings.written_for("keras")
    for call in facts.module.calls:
        known = facts.symbols.get(call.func, "")
        wrapped = wrapped or any(wrap.call is call for wrap in facts.wraps)
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "add_loss" and call.args and not known:
            penalty = penalty_of(call, facts)
            if penalty is None:
                inside = attribute_of("self", call.func) is not None
                yield CallChange(codes.EXTRA_LOSSES, call, _ADDS if inside else _ADDS + _OUTSIDE, action="warn")
            elif wrapped and names.flavour(facts.symbols.get(penalty.regularizer.func, "")) == "keras":
                if version is None or version < _BEFORE_2_3:
                    yield CallChange(codes.EXTRA_LOSSES, call, _LEFT_OUT, action="warn")
        if not names.canonical(known).startswith("keras.layers."):
            continue
        regularizer = keywords(call).get("activity_regularizer")
        whole = names.canonical(known) == "keras.layers.ActivityRegularization"
        if whole or (regularizer is not None and not is_none(regularizer.value)):
            message = _SUMS if names.flavour(known) == "keras" else _ADDS
            yield CallChange(codes.EXTRA_LOSSES, call if whole else regularizer or call, message, action="warn")
