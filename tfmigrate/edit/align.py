"""Lines that a statement goes on with move with it: those lined up under an opening bracket when the text before the
bracket changes, those behind a backslash when the statement is indented."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import libcst as cst

from tfmigrate.walk import nodes_in

_Node = TypeVar("_Node", bound=cst.CSTNode)


def indented(statement: _Node, indent: str) -> _Node:
    """The statement with its lines behind a backslash moved to the right. LibCST indents those in brackets itself."""
    if not any("\\" in space.value for space in nodes_in(statement, cst.SimpleWhitespace, layout=True)):
        return statement
    moved = statement.visit(_Behind(f"\n{indent}", "\n"))
    assert isinstance(moved, type(statement))
    return moved


def dedented(statement: _Node, indent: str) -> _Node:
    """The same to the left."""
    moved = statement.visit(_Behind("\n", f"\n{indent}"))
    assert isinstance(moved, type(statement))
    return moved


def realigned(
    original: cst.SimpleStatementLine, updated: cst.SimpleStatementLine, tree: cst.Module
) -> cst.SimpleStatementLine:
    """`updated` with its continuation lines shifted as far as the bracket moved that they stood under in `original`."""
    before, after = _open_brackets(_first_line(original, tree)), _open_brackets(_first_line(updated, tree))
    moved = list(zip(before, after, strict=False))
    if all(old == new for old, new in moved):
        return updated
    shifted = updated.visit(_Shift(moved))
    assert isinstance(shifted, cst.SimpleStatementLine)
    return shifted


def _first_line(line: cst.SimpleStatementLine, tree: cst.Module) -> str:
    code = tree.code_for_node(line.with_changes(leading_lines=()))
    head, newline, _ = code.lstrip().partition(tree.default_newline)
    return head if newline else ""


def _open_brackets(text: str) -> list[int]:
    """The column behind each bracket that a line leaves open, outermost first, where something follows it."""
    opened: list[int] = []
    quote = ""
    for column, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign == "#":
            break
        elif sign in "([{":
            opened.append(column + 1)
        elif sign in ")]}" and opened:
            opened.pop()
    return [column for column in opened if text[column:].strip()]


class _Behind(cst.CSTTransformer):
    """Other space at the beginning of each line behind a backslash."""

    def __init__(self, new: str, old: str) -> None:
        super().__init__()
        self._new, self._old = new, old

    def leave_SimpleWhitespace(
        self, original_node: cst.SimpleWhitespace, updated_node: cst.SimpleWhitespace
    ) -> cst.SimpleWhitespace:
        if "\\" not in updated_node.value:
            return updated_node
        return updated_node.with_changes(value=updated_node.value.replace(self._old, self._new))


class _Shift(cst.CSTTransformer):
    def __init__(self, moved: Sequence[tuple[int, int]]) -> None:
        """`moved`: where each bracket stood, outermost first, and where it stands now."""
        super().__init__()
        self._columns = moved

    def leave_ParenthesizedWhitespace(
        self, original_node: cst.ParenthesizedWhitespace, updated_node: cst.ParenthesizedWhitespace
    ) -> cst.ParenthesizedWhitespace:
        lines = [self._moved_line(line) for line in updated_node.empty_lines]
        last = self._shifted(updated_node.last_line) if updated_node.indent else updated_node.last_line
        return updated_node.with_changes(empty_lines=lines, last_line=last)

    def _moved_line(self, line: cst.EmptyLine) -> cst.EmptyLine:
        """A line with a comment alone, which stands under the bracket like the arguments round it."""
        if line.comment is None or not line.indent:
            return line
        return line.with_changes(whitespace=self._shifted(line.whitespace))

    def _shifted(self, space: cst.SimpleWhitespace) -> cst.SimpleWhitespace:
        width = len(space.value)
        distance = next((new - old for old, new in reversed(self._columns) if old <= width), 0)
        return space if not distance or space.value.strip(" ") else cst.SimpleWhitespace(" " * (width + distance))
