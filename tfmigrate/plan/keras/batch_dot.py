"""`K.batch_dot` of tensors with more than three dimensions, which means something else since Keras 2.3."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import named_arguments
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.walk import nodes_in

_HELPER = "batch_dot"
_OTHERWISE = {"keras": (2, 3), "tf.keras": (2,)}
"""First version with the new meaning."""
_CHANGED = (
    "up to Keras 2.2 and TensorFlow 1.15 batch_dot() of tensors with four dimensions was a matrix product over the "
    "last two: (2, 6, 3, 4) and (2, 6, 4, 5) gave (2, 6, 3, 5), and now give (2, 6, 3, 6, 5)"
)


def check(context: Context) -> Iterator[CallChange]:
    """A function keeps the old one in a module that was written for it, and in which a call's axes tell of four
    dimensions; where nothing says which one is meant, such a call is reported."""
    facts = context.facts
    calls = [
        call for call in facts.module.calls if names.canonical(context.facts.called(call)) == "keras.backend.batch_dot"
    ]
    telling = [call for call in calls if any(number > 2 for number in _axes(call))]
    if not telling:
        return
    if not all(
        context.settings.written_before(names.flavour(context.facts.called(call)), _OTHERWISE) for call in telling
    ):
        message = f"{_CHANGED}: tf.matmul(x, y), with transpose_a or transpose_b, computes the old product"
        yield from (CallChange(codes.BATCH_DOT, call, message, action="warn") for call in telling)
        return
    helper = Helper.of(context.draft, _HELPER, "old_batch_dot")
    changes = [
        CallChange(
            codes.BATCH_DOT,
            call,
            f"{_CHANGED}: {helper}() computes the old product",
            Replace(call.func, helper.name),
        )
        for call in calls
    ]
    yield from helper.brought_by(calls, changes)


def _axes(call: cst.Call) -> list[int]:
    axes = (named_arguments(call, ("x", "y", "axes")) or {}).get("axes")
    return [part.evaluated_value for part in nodes_in(axes.value, cst.Integer)] if axes else []
