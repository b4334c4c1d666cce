"""Arrays that are seen to hold integers."""

from __future__ import annotations

from collections.abc import Iterator, Set

import libcst as cst

from tfmigrate.plan.change.calls import keywords, text_of
from tfmigrate.understand.blocks import only_statement
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.reaching import added, bindings_of, reaching, unpacked, value_of
from tfmigrate.understand.scopes import Occurrence, Scopes
from tfmigrate.understand.syntax import dotted, sole_target
from tfmigrate.understand.values import FunctionValue
from tfmigrate.walk import nodes_in

_TYPES = frozenset(f"{sign}int{width}" for sign in ("", "u") for width in ("", "8", "16", "32", "64"))
_LISTED = frozenset({"numpy.array", "numpy.asarray"})
_TYPED = frozenset(f"numpy.{name}" for name in ("zeros", "ones", "empty", "full", "array", "asarray"))
_COUNTED = frozenset({"numpy.random.randint", "numpy.argmax", "numpy.argmin", "numpy.argsort"})
_SAME_TYPE = frozenset({"reshape", "copy", "ravel", "flatten", "squeeze"})
_LABELS = frozenset(f"keras.datasets.{name}.load_data" for name in ("mnist", "fashion_mnist", "cifar10", "cifar100"))


class IntegerArrays:
    """Which expressions of a module are arrays of integers."""

    def __init__(self, facts: Facts, scopes: Scopes) -> None:
        self._facts, self._scopes = facts, scopes

    def are(self, node: cst.BaseExpression, within: Set[cst.CSTNode] = frozenset()) -> bool:
        """Whether an expression surely is such an array. `within`: the names whose values are being read."""
        if isinstance(node, cst.Subscript):
            return self.are(node.value, within)
        if isinstance(node, cst.Name) and node not in within:
            bindings = bindings_of(node, self._scopes)
            return bool(bindings) and all(self._is_bound_to_one(each, within | {node}) for each in bindings)
        return isinstance(node, cst.Call) and self._makes_one(node, within)

    def _is_bound_to_one(self, binding: Occurrence, within: Set[cst.CSTNode]) -> bool:
        value = value_of(binding)
        if value is not None:
            return self.are(value, within)
        whole = unpacked(binding)
        if not isinstance(whole, cst.Call):
            return False
        if self._facts.canonical(whole.func) in _LABELS:
            return _is_second(binding)
        position = _position(binding)
        parts = list(self._returned(whole, position)) if position is not None else []
        return bool(parts) and all(part is not None and self.are(part, within) for part in parts)

    def _returned(self, call: cst.Call, position: int) -> Iterator[cst.BaseExpression | None]:
        """What stands at a position of the tuples that a function of the module returns."""
        for option in self._facts.options(call.func):
            if not isinstance(option, FunctionValue) or option.module is not self._facts.module:
                yield None
                continue
            for statement in nodes_in(option.node, cst.Return):
                value = statement.value
                known = isinstance(value, cst.Tuple) and position < len(value.elements)
                yield value.elements[position].value if known else None  # type: ignore[union-attr]

    def _makes_one(self, call: cst.Call, within: Set[cst.CSTNode]) -> bool:
        name = self._facts.canonical(call.func)
        if name in _COUNTED:
            return True
        dtype = keywords(call).get("dtype")
        if name in _TYPED and dtype is not None:
            return self._is_type(dtype.value)
        if name in _LISTED and len(call.args) == 1:
            return self._lists_integers(call.args[0].value) or self.are(call.args[0].value, within)
        if not isinstance(call.func, cst.Attribute):
            return False
        if call.func.attr.value == "astype" and call.args:
            return self._is_type(call.args[0].value)
        return call.func.attr.value in _SAME_TYPE and self.are(call.func.value, within)

    def _is_type(self, node: cst.BaseExpression) -> bool:
        named = text_of(node) or self._facts.symbols.get(node, "").removeprefix("numpy.") or dotted(node)
        return named in _TYPES

    def _lists_integers(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is a list of nothing but integers, or a name that such lists are added to."""
        if isinstance(node, cst.List):
            return all(isinstance(element.value, cst.Integer) for element in node.elements)
        scope = self._scopes.holding(node) if isinstance(node, cst.Name) else None
        if not isinstance(node, cst.Name) or scope is None:
            return False
        lists = [value_of(each) or added(each) for each in reaching(node.value, scope, self._scopes)]
        appended = list(self._appended(node, scope.node))
        plain = all(isinstance(each, cst.List) and self._lists_integers(each) for each in lists)
        return plain and len([*lists, *appended]) > 1 and all(isinstance(each, cst.Integer) for each in appended)

    def _appended(self, name: cst.Name, inside: cst.CSTNode) -> Iterator[cst.BaseExpression | None]:
        """What the methods of a list are given; None where that changes it in a way that is not followed."""
        for call in nodes_in(inside, cst.Call):
            func = call.func
            if isinstance(func, cst.Attribute) and isinstance(func.value, cst.Name) and func.value.value == name.value:
                yield call.args[0].value if func.attr.value == "append" and len(call.args) == 1 else None


def _position(binding: Occurrence) -> int | None:
    """The place of a name in `first, second = ...`."""
    target = sole_target(only_statement(binding.unit))
    elements = target.elements if isinstance(target, cst.Tuple | cst.List) else ()
    places = (place for place, element in enumerate(elements) if element.value is binding.node)
    return next(places, None)


def _is_second(binding: Occurrence) -> bool:
    """Whether a name stands for labels in `(x_train, y_train), (x_test, y_test) = mnist.load_data()`."""
    small = only_statement(binding.unit)
    for pair in nodes_in(small, cst.Tuple) if small is not None else ():
        if len(pair.elements) == 2 and pair.elements[1].value is binding.node:
            return True
    return False
