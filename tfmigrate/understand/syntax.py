"""What an expression or a statement consists of, where it has the one form that a question is about."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.walk import walk


def dotted(node: cst.CSTNode | None) -> str:
    """`a.b.c` for the expression a.b.c, "" for anything else."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        head = dotted(node.value)
        return f"{head}.{node.attr.value}" if head else ""
    return ""


def root_of(node: cst.CSTNode) -> cst.CSTNode:
    """What stands at the left end of a dotted expression."""
    while isinstance(node, cst.Attribute):
        node = node.value
    return node


def root_name(node: cst.CSTNode) -> cst.Name | None:
    """The name at the left end of a dotted expression; None where another expression stands there."""
    root = root_of(node)
    return root if isinstance(root, cst.Name) else None


def last_attribute(node: cst.CSTNode | None) -> str:
    """The attribute that an expression reads, as "x" for `a().x`; "" for what reads none."""
    return node.attr.value if isinstance(node, cst.Attribute) else ""


def attribute_of(name: str | None, node: cst.CSTNode) -> str | None:
    """The attribute of a variable that an expression is, as "x" for `self.x`; None for anything else."""
    if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name) and node.value.value == name:
        return node.attr.value
    return None


def assigned_in(tree: cst.CSTNode, name: str) -> list[cst.BaseExpression]:
    """What is assigned to a dotted name, as "self.path", anywhere in a tree."""
    assigns = (part for part in walk(tree) if isinstance(part, cst.Assign))
    return [part.value for part in assigns if any(dotted(target.target) == name for target in part.targets)]


def asked_in(test: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """What a condition asks for, `and`, `or` and `not` taken apart."""
    if isinstance(test, cst.BooleanOperation):
        yield from asked_in(test.left)
        yield from asked_in(test.right)
    elif isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        yield from asked_in(test.expression)
    else:
        yield test


def errors_of(handler: cst.ExceptHandler) -> frozenset[str]:
    """The names of the errors that a handler is for; "" where it takes every error."""
    if isinstance(handler.type, cst.Tuple):
        return frozenset(dotted(element.value) for element in handler.type.elements)
    return frozenset({dotted(handler.type)})


def captures(pattern: cst.MatchPattern) -> Iterator[cst.Name]:
    """The names that a pattern of a `match` binds."""
    for part in walk(pattern):
        bound = part.rest if isinstance(part, cst.MatchMapping) else getattr(part, "name", None)
        if isinstance(part, cst.MatchAs | cst.MatchStar | cst.MatchMapping) and bound is not None:
            yield bound


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
