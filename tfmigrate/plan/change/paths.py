"""File names as expressions."""

from __future__ import annotations

import re

import libcst as cst

from tfmigrate.plan.change.expressions import assigned
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.scopes import Scopes


def ending_of(node: cst.BaseExpression, facts: Facts, scopes: Scopes, depth: int = 0) -> cst.SimpleString | None:
    """The string literal that a path ends with, through `+`, `%`, format(), os.path.join() and a name bound once."""
    if isinstance(node, cst.SimpleString):
        return node
    if isinstance(node, cst.BinaryOperation):
        part = node.left if isinstance(node.operator, cst.Modulo) else node.right
        return ending_of(part, facts, scopes, depth)
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        if node.func.attr.value == "format":
            return ending_of(node.func.value, facts, scopes, depth)
        if node.func.attr.value == "join" and node.args and facts.symbols.get(node.func, "").startswith("os.path"):
            return ending_of(node.args[-1].value, facts, scopes, depth)
    if isinstance(node, cst.Name) and depth < 4:
        value = bound_once(node, scopes)
        return ending_of(value, facts, scopes, depth + 1) if value is not None else None
    return None


_GAP = re.compile(r"\{[^{}]*\}|%[-#0-9.]*[a-z]")


def name_shape(text: str) -> str | None:
    """A file name with the same mark in each gap that is filled in later; None where it has no gap, or is one alone."""
    shape, gaps = _GAP.subn("*", text)
    stem = shape.rpartition(".")[0].rpartition("/")[2]
    return shape if gaps and stem.strip("*") else None


def bound_once(node: cst.Name, scopes: Scopes, reads: int | None = None) -> cst.BaseExpression | None:
    """The value of a name that is bound in one place only, and read in `reads` places where that is given."""
    scope = scopes.holding(node)
    if scope is None:
        return None
    mentions = scopes.of_variable(node.value, scope)
    bindings = [mention for mention in mentions if mention.binds]
    if len(bindings) != 1 or (reads is not None and len(mentions) - 1 != reads):
        return None
    return assigned(bindings[0])
