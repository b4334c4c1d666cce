"""`tf.pad(x, np.zeros((3, 2)))`: TensorFlow 1 made integers of the paddings, today's fails on floats."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import keywords, passed_as
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.reaching import settled

_PAD = frozenset({"tensorflow.pad", "tensorflow.compat.v1.pad"})
_FLOATS = frozenset({"numpy.zeros", "numpy.ones", "numpy.empty"})
"""They make floats where they are given no type, as second argument or by its name."""


def check(context: Context) -> Iterator[CallChange]:
    for call in context.facts.module.calls:
        given = passed_as("paddings", 1, call) if context.facts.called(call) in _PAD else None
        if given is not None and _is_of_floats(settled(given.value, context.scopes), context.facts):
            message = "tf.pad() no longer converts float paddings and fails: they are converted to integers"
            type_ = f"{context.quote}int32{context.quote}"
            edit = Replace(given.value, (given.value, f".astype({type_})"))
            yield CallChange(codes.FLOAT_PADDINGS, given.value, message, edit)


def _is_of_floats(node: cst.BaseExpression, facts: Facts) -> bool:
    if not isinstance(node, cst.Call) or facts.called(node) not in _FLOATS or "dtype" in keywords(node):
        return False
    return len([arg for arg in node.args if arg.keyword is None]) == 1 and not any(arg.star for arg in node.args)
