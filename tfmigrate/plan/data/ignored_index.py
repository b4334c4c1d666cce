"""Sequences that count their batches themselves: new Keras asks for the first ones once more, to learn their shapes."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.data.made_batches import batches_made, called
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.syntax import dotted
from tfmigrate.walk import calls_in, walk

_MESSAGE = (
    "Before training, Keras 3 asks the Sequence for its first two batches, and Keras 2 for the first, to learn "
    "their shapes. This one returns the next batch whatever the index is, so training starts with a later batch: "
    "return batch `{index}`"
)


def check(context: Context) -> Iterator[CallChange]:
    """`def __getitem__(self, index): self.at += 1; return self.batch(self.at)`."""
    for function in dict.fromkeys(batch.function for batch in batches_made(context) if not batch.is_yielded):
        parameters = [*function.params.posonly_params, *function.params.params]
        if function.name.value != "__getitem__" or len(parameters) != 2:
            continue
        index = parameters[1].name.value
        is_read = any(isinstance(node, cst.Name) and node.value == index for node in walk(function.body))
        if not is_read and _steps(function, context.facts):
            message = _MESSAGE.format(index=index)
            yield CallChange(codes.IGNORED_INDEX, function.name, message, action="warn")


def _steps(function: cst.FunctionDef, facts: Facts) -> bool:
    """Whether a method, or a function that it calls, changes its object or takes the next of an iterator."""
    makers = [function, *(maker for call in calls_in(function.body) for maker in called(call, facts))]
    return any(_changes(node, maker) for maker in makers for node in walk(maker.body))


def _changes(node: cst.CSTNode, function: cst.FunctionDef) -> bool:
    if isinstance(node, cst.Call):
        return dotted(node.func) == "next"
    if not isinstance(node, cst.AssignTarget | cst.AugAssign | cst.AnnAssign) or not function.params.params:
        return False
    target = node.target
    return isinstance(target, cst.Attribute) and dotted(target.value) == function.params.params[0].name.value
