"""The expressions that another one is made of, and the names in it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.walk import children


def operands(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """The expressions directly inside another one; the words behind a dot and before `=` are none."""
    for child in children(node):
        if isinstance(child, cst.BaseExpression):
            if not (isinstance(node, cst.Attribute) and child is node.attr):
                if not (isinstance(node, cst.Arg) and child is node.keyword):
                    yield child
        else:
            yield from operands(child)


def names_in(node: cst.CSTNode) -> frozenset[str]:
    """Every name that an expression reads or binds."""
    if isinstance(node, cst.Name):
        return frozenset({node.value})
    return frozenset[str]().union(*map(names_in, operands(node)))
