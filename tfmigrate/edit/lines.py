"""Statements with the comments and blank lines above them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from typing import TypeVar

import libcst as cst

from tfmigrate.plan.edits import Move
from tfmigrate.walk import comments_in, nodes_in, walk

Pieces = list[cst.BaseStatement]


_Node = TypeVar("_Node", bound=cst.CSTNode)


def definitions_apart(lines: Sequence[cst.BaseStatement]) -> Pieces:
    """The lines, with two blank ones round each function and class; the last line stood there before."""
    out: Pieces = []
    for number, line in enumerate(lines):
        new = defines(line) and number < len(lines) - 1
        old = defines(line) or (out and defines(out[-1]))
        if new or (out and old):
            line = led(line, _two_apart(lines_above(line), first=not out))
        out.append(line)
    return out


def imports_apart(lines: Sequence[cst.BaseStatement]) -> Pieces:
    """The lines, with a blank one below imports; the last line stood there before."""
    out: Pieces = []
    for line in lines:
        if out and imports(out[-1]) and not imports(line) and not blank_lines(lines_above(line)):
            line = led(line, [cst.EmptyLine(indent=False), *lines_above(line)])
        out.append(line)
    return out


def _two_apart(leading: Sequence[cst.EmptyLine], *, first: bool) -> list[cst.EmptyLine]:
    """The lines above a statement with two blank ones; above the first of some below a comment that goes on from the
    statement before."""
    two = [cst.EmptyLine(indent=False), cst.EmptyLine(indent=False)]
    if first and leading and leading[0].comment is not None and leading[-1].comment is None:
        last = max(number for number, line in enumerate(leading) if line.comment is not None)
        return [*leading[: last + 1], *two]
    return [*two, *comment_lines(leading)]


def defines(line: cst.CSTNode) -> bool:
    """Whether a statement is the definition of a function or a class."""
    return isinstance(line, cst.FunctionDef | cst.ClassDef)


_TALK = frozenset({"print", "debug", "info", "warning"})
_WORDS = frozenset({"format", "len", "str", "int", "join"})


def only_talks(statement: cst.CSTNode) -> bool:
    """Whether all that a statement does is to print: `print(...)`, or an `if` with nothing else in its arms."""
    if isinstance(statement, cst.If | cst.Else):
        inner = statement.body.body if isinstance(statement.body, cst.IndentedBlock) else ()
        other = isinstance(statement, cst.Else) or statement.orelse is None or only_talks(statement.orelse)
        return bool(inner) and all(map(only_talks, inner)) and other
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    for small in statement.body:
        if not isinstance(small, cst.Expr) or not isinstance(small.value, cst.Call):
            return False
        called = [_last_word(call.func) for call in nodes_in(small, cst.Call)]
        if _last_word(small.value.func) not in _TALK or not {*called} <= _TALK | _WORDS:
            return False
    return True


def _last_word(function: cst.BaseExpression) -> str:
    named = function.attr if isinstance(function, cst.Attribute) else function
    return named.value if isinstance(named, cst.Name) else ""


def names_bound(line: cst.BaseStatement) -> set[str]:
    """The names that an inserted line binds: a definition's, or those of its assignments."""
    if isinstance(line, cst.FunctionDef | cst.ClassDef):
        return {line.name.value}
    smalls = line.body if isinstance(line, cst.SimpleStatementLine) else ()
    targets = [target.target for small in smalls if isinstance(small, cst.Assign) for target in small.targets]
    names = (target for target in targets if not isinstance(target, cst.Attribute | cst.Subscript))
    return {node.value for target in names for node in walk(target) if isinstance(node, cst.Name)}


def imports(line: cst.CSTNode) -> bool:
    """Whether a line does nothing but import."""
    return isinstance(line, cst.SimpleStatementLine) and all(
        isinstance(small, cst.Import | cst.ImportFrom) for small in line.body
    )


def statements_of(suite: cst.BaseSuite) -> list[cst.BaseStatement]:
    """The statements of an indented block; none of a suite on one line."""
    return [statement for statement in suite.body if isinstance(statement, cst.BaseStatement)]


def lines_above(statement: cst.BaseStatement) -> Sequence[cst.EmptyLine]:
    lines: Sequence[cst.EmptyLine] = getattr(statement, "leading_lines", ())
    return lines


def led(statement: cst.BaseStatement, lines: Sequence[cst.EmptyLine]) -> cst.BaseStatement:
    return statement.with_changes(leading_lines=lines)


def without_remarks(pieces: Sequence[cst.BaseStatement], forgotten: Container[cst.CSTNode]) -> Pieces:
    """Statements, without the comments behind them that go."""
    return [
        piece.with_changes(trailing_whitespace=cst.TrailingWhitespace())
        if isinstance(piece, cst.SimpleStatementLine) and piece.trailing_whitespace.comment in forgotten
        else piece
        for piece in pieces
    ]


def without_trailing_space(statement: _Node) -> _Node:
    """Blank lines above a file's own statements, and above their `else`, would be indented with them."""
    changes: dict[str, object] = {}
    for name in ("orelse", "finalbody"):
        clause = getattr(statement, name, None)
        if isinstance(clause, cst.If | cst.Else | cst.Finally):
            changes[name] = without_trailing_space(clause)
    if isinstance(statement, cst.Try | cst.TryStar):
        changes["handlers"] = [without_trailing_space(handler) for handler in statement.handlers]
    lines = getattr(statement, "leading_lines", ())
    changes["leading_lines"] = [line if line.comment else line.with_changes(indent=False) for line in lines]
    return statement.with_changes(**changes)


def comment_lines(lines: Sequence[cst.EmptyLine]) -> list[cst.EmptyLine]:
    """The lines from the first comment on: blank lines above it belong to the previous statement."""
    first = next((number for number, line in enumerate(lines) if line.comment is not None), len(lines))
    return list(lines[first:])


def comments_about(
    leading: Sequence[cst.EmptyLine], inserted: Sequence[cst.BaseStatement], unit: cst.CSTNode
) -> list[cst.EmptyLine]:
    """The comments of a statement that stay with it where lines go before it: of several paragraphs the last one.

    A definition stands by itself, so it goes above the headings of what follows too, but below a comment that goes on
    from the statement before.
    """
    if not inserted or (any(map(defines, inserted)) and not defines(unit)):
        return comment_lines(leading)
    blank = [number for number, line in enumerate(leading) if line.comment is None]
    if any(map(defines, inserted)) and blank:
        return comment_lines(leading[blank[0] :])
    return list(leading[blank[-1] + 1 if blank else 0 :])


def going_on(lines: Sequence[cst.EmptyLine]) -> list[cst.EmptyLine]:
    """Of the lines above a statement the comments that go on from the statement before: a blank line is below them, and
    none above."""
    blank = next((number for number, line in enumerate(lines) if line.comment is None), 0)
    return list(lines[:blank])


def blank_lines(lines: Sequence[cst.EmptyLine]) -> list[cst.EmptyLine]:
    """The lines above the first comment."""
    return list(lines[: len(lines) - len(comment_lines(lines))])


def either_lines(one: Sequence[cst.EmptyLine], two: Sequence[cst.EmptyLine]) -> list[cst.EmptyLine]:
    """The lines above what is written once for two: the blank ones of either, and the comments of both."""
    said = {line.comment.value for line in one if line.comment is not None}
    other = [line for line in comment_lines(two) if line.comment is None or line.comment.value not in said]
    return [*(blank_lines(one) or blank_lines(two)), *comment_lines(one), *other]


def keep_comments(before: Sequence[str], pieces: Pieces, carried: Sequence[cst.CSTNode] = ()) -> Pieces:
    """The pieces, with every comment of `before` that they, and what was `carried` off, lack above the first."""
    if not before:
        return pieces
    present = Counter(text for piece in (*pieces, *carried) for text in comments_in(piece))
    lost = []
    for text in before:
        if present[text]:
            present[text] -= 1
        else:
            lost.append(cst.EmptyLine(comment=cst.Comment(text)))
    if not lost:
        return pieces
    return [led(pieces[0], [*getattr(pieces[0], "leading_lines", ()), *lost]), *pieces[1:]]


def blank_above(units: Sequence[cst.CSTNode], moves: Sequence[Move]) -> dict[cst.CSTNode, list[cst.EmptyLine]]:
    """The blank lines above units of a block that a move gives other ones: paragraphs stay apart."""
    above_of = {}
    for move in moves:
        if move.before in units:
            first = move.units[0]
            place = units.index(first)
            follower = next(unit for unit in units[place:] if unit not in move.units)
            above, below = (blank_lines(getattr(unit, "leading_lines", ())) for unit in (first, follower))
            above_of[follower] = above if not place or len(above) > len(below) else below
            above_of[first] = blank_lines(getattr(move.before, "leading_lines", ()))
            if units.index(move.before) < place:
                above_of[move.before] = []
    return above_of
