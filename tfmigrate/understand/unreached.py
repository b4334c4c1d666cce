"""Where a block or a function ends, and the statements that never run because it ends above them."""

from __future__ import annotations

from collections.abc import Iterator, Set

import libcst as cst

from tfmigrate.understand.blocks import suites_of, units_of
from tfmigrate.understand.syntax import dotted
from tfmigrate.walk import children

Kinds = tuple[type[cst.CSTNode], ...]
ENDING: Kinds = (cst.Return, cst.Raise)
"""The statements that leave a function."""
LEAVING: Kinds = (*ENDING, cst.Continue, cst.Break)
EXITS = frozenset({"exit", "quit", "sys.exit", "os._exit"})
"""They raise SystemExit, or end the process."""


def never_run(block: cst.Module | cst.BaseSuite, exits: Set[str] = EXITS) -> Iterator[cst.CSTNode]:
    """The statements and blocks in a block that never run: behind one that leaves, and under a test that is `False` or
    0 as it is written, outermost first."""
    left = False
    for unit in units_of(block):
        dead = [*_dead_arms(unit)]
        for suite in () if left else suites_of(unit):
            if suite in dead:
                yield suite
            else:
                yield from never_run(suite, exits)
        if left:
            yield unit
        left = left or leaves(unit, exits=exits)


def _dead_arms(unit: cst.CSTNode | None) -> Iterator[cst.CSTNode]:
    """The suites of an `if` or `while` that never run."""
    passed = False
    while isinstance(unit, cst.If | cst.While):
        test = unit.test.value if isinstance(unit.test, cst.Name | cst.Integer) else ""
        if passed or test in ("False", "None", "0"):
            yield unit.body
        passed = passed or (isinstance(unit, cst.If) and test in ("True", "1"))
        unit = unit.orelse
    if passed and isinstance(unit, cst.Else):
        yield unit.body


def leaves(node: cst.CSTNode | None, by: Kinds = LEAVING, exits: Set[str] = EXITS) -> bool:
    """Whether what follows a statement or a block is never reached from it: each way through it ends in one of these
    statements, or exits where `raise` is one of them. `exits`: the calls that do; `module.leaves()` knows them."""
    if isinstance(node, by):
        return True
    if isinstance(node, cst.Expr):
        return cst.Raise in by and isinstance(node.value, cst.Call) and dotted(node.value.func) in exits
    if isinstance(node, cst.Module | cst.BaseSuite | cst.SimpleStatementLine):
        return any(leaves(part, by, exits) for part in node.body)
    if isinstance(node, cst.Else | cst.Finally | cst.ExceptHandler | cst.ExceptStarHandler):
        return leaves(node.body, by, exits)
    if isinstance(node, cst.If):
        return leaves(node.body, by, exits) and leaves(node.orelse, by, exits)
    if isinstance(node, cst.With):  # It may hold back what is raised.
        return leaves(node.body, tuple(kind for kind in by if kind is not cst.Raise), exits)
    if isinstance(node, cst.Try | cst.TryStar):
        through = leaves(node.body, by, exits) or leaves(node.orelse, by, exits)
        handled = all(leaves(handler, by, exits) for handler in node.handlers)
        return leaves(node.finalbody, by, exits) or (through and handled)
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
