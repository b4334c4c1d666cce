"""The statements of a block, and the small statements of a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

Unit = cst.BaseStatement | cst.SimpleStatementLine | cst.SimpleStatementSuite
"""The smallest thing a scope can be put around: a line, a compound statement, or the tail of `if x: ...`."""


def units_of(block: cst.Module | cst.BaseSuite) -> Sequence[Unit]:
    """The units of a block, in order."""
    if isinstance(block, cst.SimpleStatementSuite):
        return (block,)
    return block.body  # type: ignore[return-value]


def block_of(function: cst.Module | cst.FunctionDef) -> cst.Module | cst.BaseSuite:
    """The units of a function, or of a module's own level."""
    return function.body if isinstance(function, cst.FunctionDef) else function


def suites_of(statement: cst.CSTNode) -> Iterator[cst.BaseSuite]:
    """The blocks directly inside a compound statement, in order of appearance."""
    if isinstance(statement, cst.If):
        yield statement.body
        if statement.orelse is not None:
            yield from suites_of(statement.orelse)
    elif isinstance(statement, cst.Else | cst.Finally | cst.ExceptHandler | cst.ExceptStarHandler | cst.With):
        yield statement.body
    elif isinstance(statement, cst.For | cst.While):
        yield statement.body
        if statement.orelse is not None:
            yield statement.orelse.body
    elif isinstance(statement, cst.Try | cst.TryStar):
        yield statement.body
        for handler in statement.handlers:
            yield handler.body
        if statement.orelse is not None:
            yield statement.orelse.body
        if statement.finalbody is not None:
            yield statement.finalbody.body
    elif isinstance(statement, cst.Match):
        for case in statement.cases:
            yield case.body
    elif isinstance(statement, cst.FunctionDef | cst.ClassDef):
        yield statement.body


def only_statement(unit: cst.CSTNode) -> cst.BaseSmallStatement | None:
    """The statement that has a line to itself."""
    return unit.body[0] if isinstance(unit, cst.SimpleStatementLine) and len(unit.body) == 1 else None


def is_seam(unit: cst.CSTNode) -> bool:
    """Whether a statement does nothing: `class name: pass`, which parts the cells of a notebook."""
    suite = unit.body if isinstance(unit, cst.ClassDef) else None
    return isinstance(suite, cst.SimpleStatementSuite) and all(isinstance(small, cst.Pass) for small in suite.body)


def is_docstring(statement: cst.CSTNode | None) -> bool:
    """Whether a statement is a string and nothing else."""
    return isinstance(statement, cst.Expr) and isinstance(statement.value, cst.SimpleString | cst.ConcatenatedString)
