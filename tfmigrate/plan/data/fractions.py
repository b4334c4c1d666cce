"""What share of its rows a training holds out: whether any, whatever the program is run with."""

from __future__ import annotations

import operator
from collections.abc import Callable

import libcst as cst

from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.values import Literal

_ARITHMETIC: dict[type[cst.BaseBinaryOp], Callable[[float, float], float]] = {
    cst.Add: operator.add,
    cst.Subtract: operator.sub,
    cst.Multiply: operator.mul,
    cst.Divide: operator.truediv,
}


def is_positive(node: cst.BaseExpression, facts: Facts) -> bool:
    """Whether a number is above zero in every run; one that a caller or the command line gives may be 0."""
    try:
        return all(number > 0 for number in _numbers(node, facts))
    except (LookupError, ZeroDivisionError):
        return False


def _numbers(node: cst.BaseExpression, facts: Facts) -> set[float]:
    """All that a number may be. Raises LookupError where that is not known."""
    if isinstance(node, cst.Integer | cst.Float):
        return {node.evaluated_value}
    if isinstance(node, cst.IfExp):
        return _numbers(node.body, facts) | _numbers(node.orelse, facts)
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        return {-number for number in _numbers(node.expression, facts)}
    if isinstance(node, cst.BinaryOperation) and type(node.operator) in _ARITHMETIC:
        compute = _ARITHMETIC[type(node.operator)]
        rights = _numbers(node.right, facts)
        return {compute(left, right) for left in _numbers(node.left, facts) for right in rights}
    known = facts.options(node)
    literals = [option.value for option in known if isinstance(option, Literal)]
    numbers = {value for value in literals if isinstance(value, int | float)}
    if not known or len(numbers) != len(known):
        raise LookupError
    return numbers
