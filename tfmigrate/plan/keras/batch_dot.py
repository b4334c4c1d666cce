"""`K.batch_dot` of tensors with more than three dimensions, which means something else since Keras 2.3."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import named_arguments
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.walk import walk


def check(context: Context) -> Iterator[CallChange]:
    """A call whose axes say that a tensor has four dimensions at least is reported."""
    facts = context.facts
    for call in facts.module.calls:
        if names.canonical(facts.symbols.get(call.func, "")) != "keras.backend.batch_dot":
            continue
        axes = (named_arguments(call, ("x", "y", "axes")) or {}).get("axes")
        numbers = [part.evaluated_value for part in walk(axes.value) if isinstance(part, cst.Integer)] if axes else []
        if any(number > 2 for number in numbers):
            message = (
                "up to Keras 2.2 and TensorFlow 1.15 batch_dot() of tensors with four dimensions was a matrix product "
                "for each of the leading ones, (2, 6, 3, 4) and (2, 6, 4, 5) gave (2, 6, 3, 5); it is (2, 6, 3, 6, 5) "
                "now: tf.matmul(x, y), with transpose_a or transpose_b, is the old one"
            )
            yield CallChange(codes.BATCH_DOT, call, message, action="warn")
