"""What an expression or a statement consists of, where it has the one form that a question is about."""

from __future__ import annotations

import libcst as cst


def last_word(node: cst.CSTNode | None) -> str:
    """`c` of `a.b.c` and of `a().c`, `a` of `a`; "" for anything else."""
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def index_of(node: cst.CSTNode | None) -> cst.BaseExpression | None:
    """`i` of `x[i]`; None for a slice, for several indexes, and for what is no subscript."""
    element = node.slice[0].slice if isinstance(node, cst.Subscript) and len(node.slice) == 1 else None
    return element.value if isinstance(element, cst.Index) else None


def called_on(call: cst.Call) -> cst.BaseExpression | None:
    """`x` of `x.method()`; None where the call is of no attribute."""
    return call.func.value if isinstance(call.func, cst.Attribute) else None


def sole_target(statement: cst.CSTNode | None) -> cst.BaseAssignTargetExpression | None:
    """`x` of `x = value`; None for an assignment to several targets, and for any other statement."""
    return statement.targets[0].target if isinstance(statement, cst.Assign) and len(statement.targets) == 1 else None


def sole_name(statement: cst.CSTNode | None) -> str | None:
    """The variable that `name = value` binds; None where anything else is bound, or more."""
    target = sole_target(statement)
    return target.value if isinstance(target, cst.Name) else None
