"""Shapes of tensors as TensorFlow 1 gave them: a tensor of Keras 3 has a tuple of numbers."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.values import Made, Opaque, Parameter
from tfmigrate.written import Code

_OLD = ("_keras_shape", "_shape_tuple")
_COUNTS = ("ndims", "rank")


def check(context: Context) -> Iterator[CallChange]:
    """`x.get_shape().as_list()` is `list(x.shape)`, and `x.shape[1].value` is `x.shape[1]`."""
    facts, scopes = context.facts, context.scopes
    reader = _Reader(facts, scopes)
    for node in facts.module.all_of(cst.Call, cst.Attribute):
        change = reader.change_of(node)
        if change is not None:
            yield CallChange(codes.STATIC_SHAPES, node, _MESSAGE, Replace(node, change))


_MESSAGE = "the shape of a symbolic tensor is a plain tuple on Keras 3: written in the form that every version accepts"


class _Reader:
    def __init__(self, facts: Facts, scopes: Scopes) -> None:
        self._facts, self._scopes = facts, scopes
        self._made_anew = {
            call.args[0].value
            for call in facts.module.calls
            if isinstance(call.func, cst.Name) and call.func.value in ("tuple", "list") and len(call.args) == 1
        }
        """What a `tuple()` or a `list()` is made of, whichever kind it is itself."""

    def change_of(self, node: cst.Call | cst.Attribute) -> Code | None:
        """What stands in an expression's place."""
        if isinstance(node, cst.Call):
            if not isinstance(node.func, cst.Attribute) or node.args:
                return None
            receiver, method = node.func.value, node.func.attr.value
            if method == "get_shape" and self._is_tensor(receiver):
                return receiver, ".shape"
            if method != "as_list" or not self._is_shape(receiver):
                return None
            return (receiver,) if node in self._made_anew else ("list(", receiver, ")")
        owner, name = node.value, node.attr.value
        if name in _COUNTS and self._is_shape(owner):
            return "len(", owner, ")"
        if name == "value" and isinstance(owner, cst.Subscript) and self._is_shape(owner.value):
            return (owner,)
        if name in _OLD and any(_is_symbolic(option) for option in self._facts.options(owner)):
            return owner, ".shape"
        return None

    def _is_shape(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is the static shape of what may be a tensor, also through variables."""
        node = settled(node, self._scopes)
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            return not node.args and node.func.attr.value == "get_shape" and self._is_tensor(node.func.value)
        if isinstance(node, cst.Subscript):  # A part of it: `x.shape[1:3]`.
            parts = [element.slice for element in node.slice]
            return len(parts) == 1 and isinstance(parts[0], cst.Slice) and self._is_shape(node.value)
        return isinstance(node, cst.Attribute) and node.attr.value == "shape" and self._is_tensor(node.value)

    def _is_tensor(self, node: cst.BaseExpression) -> bool:
        """Whether a value may be a tensor, and is nothing that the program says what it is."""
        known = self._facts.options(node)
        return bool(known) and all(_is_symbolic(option) or isinstance(option, Opaque | Parameter) for option in known)


def _is_symbolic(value: object) -> bool:
    return isinstance(value, Made) and value.kind == "tensor"
