"""The opposite of a condition, and brackets where an expression needs them in a new place."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from tfmigrate.written import Written

_NEGATED: Mapping[type[cst.BaseCompOp], str] = {
    cst.GreaterThan: "<=",
    cst.GreaterThanEqual: "<",
    cst.LessThan: ">=",
    cst.LessThanEqual: ">",
    cst.Equal: "!=",
    cst.NotEqual: "==",
    cst.Is: "is not",
    cst.IsNot: "is",
    cst.In: "not in",
    cst.NotIn: "in",
}


def negated(condition: Written) -> Written:
    """The opposite of a condition: `G <= 1` gives `G > 1`."""
    test = condition.tree
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return condition.part("expression") or Written.of(_code(test.expression))
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1 and not test.lpar:
        target = test.comparisons[0]
        opposite = _NEGATED.get(type(target.operator))
        if opposite is not None:
            left, right = condition.part("left"), condition.part("comparisons.0.comparator")
            left, right = left or Written.of(_code(test.left)), right or Written.of(_code(target.comparator))
            return Written.of(operand(left), f" {opposite} ", operand(right))
    plain = isinstance(test, cst.Name | cst.Attribute | cst.Call)
    return Written.of("not ", condition) if plain else Written.of("not (", condition, ")")


def operand(part: Written) -> Written:
    """An expression beside a comparison, in brackets where that would tear it apart: `a if b else c`, `a or b`."""
    weak = isinstance(part.tree, cst.IfExp | cst.Lambda | cst.BooleanOperation | cst.UnaryOperation | cst.Comparison)
    return bracketed(part) if weak and not part.tree.lpar else part


def bracketed(part: Written) -> Written:
    """An expression in parentheses."""
    return Written.of("(", part, ")")


def _code(node: cst.BaseExpression) -> str:
    return cst.Module([]).code_for_node(node)
