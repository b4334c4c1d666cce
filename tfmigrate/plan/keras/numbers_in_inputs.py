"""A layer of the program's own that is called on a list of tensors and whole numbers."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.contents import is_layer
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.values import unbound
from tfmigrate.walk import calls_in

_MESSAGE = (
    "TensorFlow 2 calls layers on tensors only, and fails on the whole number in this list: take it out, and pass it "
    "to call() by keyword"
)


def check(context: Context) -> Iterator[CallChange]:
    """`head([feature, 0])`, and `head([feature, i])` where a loop counts in i."""
    facts = context.facts
    counted = dict(_counted(facts))
    for call in facts.module.calls:
        if len(call.args) == 1 and isinstance(call.args[0].value, cst.List | cst.Tuple):
            elements = [element.value for element in call.args[0].value.elements]
            numbers = any(isinstance(e, cst.Integer) or _name(e) == counted.get(call, "") for e in elements)
            if numbers and any(map(is_layer, facts.options(call.func))):
                yield CallChange(codes.NUMBERS_IN_INPUTS, call, _MESSAGE, action="warn")


def _counted(facts: Facts) -> Iterator[tuple[cst.Call, str]]:
    """The calls in loops over range() and enumerate(), with the name that counts."""
    for loop in facts.module.all_of(cst.ListComp, cst.GeneratorExp, cst.For):
        body: cst.CSTNode
        if isinstance(loop, cst.ListComp | cst.GeneratorExp):
            name, body = _counter(loop.for_in, facts), loop.elt
        elif isinstance(loop, cst.For):
            name, body = _counter(loop, facts), loop.body
        else:
            continue
        if name is not None:
            yield from ((node, name) for node in calls_in(body))


def _counter(loop: cst.CompFor | cst.For, facts: Facts) -> str | None:
    """`i` of `for i in range(5)` and of `for i, feature in enumerate(features)`."""
    over = facts.values.get(loop.iter.func) if isinstance(loop.iter, cst.Call) else None
    if over == unbound("range"):
        return _name(loop.target)
    if over == unbound("enumerate") and isinstance(loop.target, cst.Tuple):
        return _name(loop.target.elements[0].value)
    return None


def _name(node: cst.CSTNode) -> str | None:
    return node.value if isinstance(node, cst.Name) else None
