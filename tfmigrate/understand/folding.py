"""Expressions that say less than they write, once a caller's literals stand in them: `4 is not None and 4 > 1`."""

from __future__ import annotations

import operator
from ast import literal_eval
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import libcst as cst

from tfmigrate.written import Written

_COMPARED: Mapping[type[cst.BaseCompOp], Callable[[Any, Any], object]] = {
    cst.Is: operator.is_,
    cst.IsNot: operator.is_not,
    cst.Equal: operator.eq,
    cst.NotEqual: operator.ne,
    cst.LessThan: operator.lt,
    cst.LessThanEqual: operator.le,
    cst.GreaterThan: operator.gt,
    cst.GreaterThanEqual: operator.ge,
}


@dataclass(frozen=True)
class Constant:
    value: object


def constant(node: cst.BaseExpression) -> Constant | None:
    """The value of an expression that hangs on nothing but constants: `2 > 1`; None for any other."""
    if isinstance(node, cst.Comparison):
        return _compared(node)
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
        operand = constant(node.expression)
        return Constant(not operand.value) if operand is not None else None
    name = _decided(node)
    if name is not None:
        return constant(getattr(node, name))
    plain = isinstance(node, cst.Integer | cst.Float | cst.SimpleString)
    if plain or (isinstance(node, cst.Name) and node.value in ("True", "False", "None")):
        return Constant(literal_eval(cst.Module([]).code_for_node(node)))
    return None


def folded(expression: Written) -> Written:
    """The same value, without a choice that constants have made."""
    value = constant(expression.tree)
    if value is not None:
        return Written.of(repr(value.value))
    name = _decided(expression.tree)
    arm = expression.part(name) if name is not None else None
    return folded(arm) if arm is not None else expression


def _decided(node: cst.BaseExpression) -> str | None:
    """The operand that gives an expression its value where a constant decides that, by its name in LibCST."""
    if isinstance(node, cst.BooleanOperation):
        left = constant(node.left)
        if left is not None:
            return "left" if bool(left.value) is isinstance(node.operator, cst.Or) else "right"
    if isinstance(node, cst.IfExp):
        test = constant(node.test)
        if test is not None:
            return "body" if test.value else "orelse"
    return None


def _compared(node: cst.Comparison) -> Constant | None:
    operands = [constant(part) for part in (node.left, *(target.comparator for target in node.comparisons))]
    values = [operand.value for operand in operands if operand is not None]
    if len(values) < len(operands):
        return None
    pairs = zip(node.comparisons, pairwise(values), strict=True)
    try:
        return Constant(all(_COMPARED[type(target.operator)](*pair) for target, pair in pairs))
    except (KeyError, TypeError):  # `2 in 3`, `None > 1`
        return None
