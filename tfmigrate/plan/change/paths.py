"""File names as expressions."""

from __future__ import annotations

from collections.abc import Set

import libcst as cst

from tfmigrate.file_names import shape_of
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.scopes import Scopes


def ending_of(
    node: cst.BaseExpression, facts: Facts, scopes: Scopes, seen: Set[cst.CSTNode] = frozenset()
) -> cst.SimpleString | None:
    """The string literal that a path ends with, through `+`, `%`, format(), os.path.join() and names bound once.

    `seen`: what is made of the path, which may be made of itself.
    """
    node = settled(node, scopes)
    if node in seen:
        return None
    seen |= {node}
    if isinstance(node, cst.SimpleString):
        return node
    if isinstance(node, cst.BinaryOperation):
        part = node.left if isinstance(node.operator, cst.Modulo) else node.right
        return ending_of(part, facts, scopes, seen)
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        if node.func.attr.value == "format":
            return ending_of(node.func.value, facts, scopes, seen)
        if node.func.attr.value == "join" and node.args and facts.symbols.get(node.func, "").startswith("os.path"):
            return ending_of(node.args[-1].value, facts, scopes, seen)
    return None


def name_shape(text: str) -> str | None:
    """A file name with the same mark in each gap that is filled in later; None where it has no gap, or is one alone."""
    shape = shape_of(text)
    stem = shape.rpartition(".")[0].rpartition("/")[2]
    return shape if shape != text and stem.strip("*") else None
