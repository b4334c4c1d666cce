"""A layer of the program's own that is called on a list of tensors and whole numbers."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.contents import is_layer
from tfmigrate.understand.loops import Loops, Number

_MESSAGE = (
    "TensorFlow 2 only calls layers on tensors, and fails on the whole number in this list: pass it to call() by "
    "keyword instead"
)


def check(context: Context) -> Iterator[CallChange]:
    """`head([feature, 0])`, and `head([feature, i])` where a loop counts in i."""
    facts = context.facts
    for call in facts.module.calls:
        if len(call.args) == 1 and isinstance(call.args[0].value, cst.List | cst.Tuple):
            if any(map(is_layer, facts.options(call.func))):
                if any(_is_number(element.value, context.loops) for element in call.args[0].value.elements):
                    yield CallChange(codes.NUMBERS_IN_INPUTS, call, _MESSAGE, action="warn")


def _is_number(node: cst.BaseExpression, loops: Loops) -> bool:
    return isinstance(node, cst.Integer) or Number() in loops.taken(node)
