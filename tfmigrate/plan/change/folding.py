"""Expressions that say less than they write, once a caller's literals stand in them: `4 is not None and 4 > 1`."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

_COMPARED: Mapping[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def folded(tree: ast.expr) -> ast.expr:
    """The same value, without the choices that constants have made."""
    found = _Folding().visit(tree)
    assert isinstance(found, ast.expr)
    return found


def constant(condition: str) -> bool | None:
    """Whether a condition that hangs on nothing but constants holds: `2 > 1`; None for any other."""
    found = folded(ast.parse(condition, mode="eval").body)
    return bool(found.value) if isinstance(found, ast.Constant) else None


class _Folding(ast.NodeTransformer):
    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        operands = [node.left, *node.comparators]
        if not all(isinstance(operand, ast.Constant) for operand in operands):
            return node
        values = [operand.value for operand in operands if isinstance(operand, ast.Constant)]
        try:
            pairs = zip(node.ops, values, values[1:], strict=False)
            return ast.Constant(all(_COMPARED[type(compared)](one, two) for compared, one, two in pairs))
        except (KeyError, TypeError):  # `2 in 3`, `None > 1`
            return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not) and isinstance(node.operand, ast.Constant):
            return ast.Constant(not node.operand.value)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        decides = isinstance(node.op, ast.Or)
        while len(node.values) > 1 and isinstance(first := node.values[0], ast.Constant):
            if bool(first.value) is decides:
                return first
            node.values.pop(0)
        return node.values[0] if len(node.values) == 1 else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node
