"""Where a block or a function ends, and the statements that never run because it ends above them."""

from __future__ import annotations

import libcst as cst

from tfmigrate.understand.blocks import units_of
from tfmigrate.understand.module import Module
from tfmigrate.understand.syntax import dotted
from tfmigrate.walk import children, walk

Kinds = tuple[type[cst.CSTNode], ...]
ENDING: Kinds = (cst.Return, cst.Raise)
"""The statements that leave a function."""
LEAVING: Kinds = (*ENDING, cst.Continue, cst.Break)
_EXITS = frozenset({"exit", "quit", "sys.exit", "os._exit"})
"""They raise SystemExit, or end the process."""


def never_runs(node: cst.CSTNode, module: Module) -> bool:
    """Whether an expression stands behind a `return`, `raise`, `continue` or `break` of a block round it."""
    for unit in (unit for unit in module.places if node in walk(unit)):
        place = module.places[unit]
        if any(map(leaves, units_of(place.block)[: place.index])):
            return True
    return False


def leaves(node: cst.CSTNode | None, by: Kinds = LEAVING) -> bool:
    """Whether what follows a statement or a block is never reached from it: each way through it ends in one of these
    statements, or exits where `raise` is one of them."""
    if isinstance(node, by):
        return True
    if isinstance(node, cst.Expr):
        return cst.Raise in by and isinstance(node.value, cst.Call) and dotted(node.value.func) in _EXITS
    if isinstance(node, cst.Module | cst.BaseSuite | cst.SimpleStatementLine):
        return any(leaves(part, by) for part in node.body)
    if isinstance(node, cst.Else | cst.Finally | cst.ExceptHandler | cst.ExceptStarHandler):
        return leaves(node.body, by)
    if isinstance(node, cst.If):
        return leaves(node.body, by) and leaves(node.orelse, by)
    if isinstance(node, cst.With):  # It may hold back what is raised.
        return leaves(node.body, tuple(kind for kind in by if kind is not cst.Raise))
    if isinstance(node, cst.Try | cst.TryStar):
        through = leaves(node.body, by) or leaves(node.orelse, by)
        return leaves(node.finalbody, by) or (through and all(leaves(handler, by) for handler in node.handlers))
    return False


def last_statement(block: cst.CSTNode) -> cst.CSTNode | None:
    """The last small statement of a block."""
    body = getattr(block, "body", None)
    while body is not None and not isinstance(body, list | tuple):
        body = getattr(body, "body", None)
    last = body[-1] if body else None
    if isinstance(last, cst.SimpleStatementLine):
        return last.body[-1]
    return last


def returns_early(function: cst.FunctionDef) -> bool:
    """Whether a function may end before its last line."""
    pending: list[cst.CSTNode] = [function.body]
    last = last_statement(function)
    while pending:
        part = pending.pop()
        if isinstance(part, cst.Return | cst.Yield) and part is not last:
            return True
        if not isinstance(part, cst.FunctionDef | cst.Lambda | cst.ClassDef):
            pending.extend(children(part))
    return False
