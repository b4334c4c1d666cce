"""Arguments that were lined up under an opening bracket stay lined up when the text before the bracket changes."""

from __future__ import annotations

import libcst as cst


def realigned(
    original: cst.SimpleStatementLine, updated: cst.SimpleStatementLine, tree: cst.Module
) -> cst.SimpleStatementLine:
    """`updated` with its continuation lines shifted as far as the bracket moved that they stood under in `original`."""
    before, after = _open_bracket(_first_line(original, tree)), _open_bracket(_first_line(updated, tree))
    if before is None or after is None or before == after:
        return updated
    shifted = updated.visit(_Shift(before, after - before))
    assert isinstance(shifted, cst.SimpleStatementLine)
    return shifted


def _first_line(line: cst.SimpleStatementLine, tree: cst.Module) -> str:
    code = tree.code_for_node(line.with_changes(leading_lines=()))
    head, newline, _ = code.lstrip().partition(tree.default_newline)
    return head if newline else ""


def _open_bracket(text: str) -> int | None:
    """The column behind the innermost bracket that a line leaves open, where something stands behind it."""
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
    return opened[-1] if opened and text[opened[-1] :].strip() else None


class _Shift(cst.CSTTransformer):
    def __init__(self, column: int, distance: int) -> None:
        super().__init__()
        self._column = column
        self._distance = distance

    def leave_ParenthesizedWhitespace(
        self, original_node: cst.ParenthesizedWhitespace, updated_node: cst.ParenthesizedWhitespace
    ) -> cst.ParenthesizedWhitespace:
        width = len(updated_node.last_line.value)
        if not updated_node.indent or width < self._column or updated_node.last_line.value.strip(" "):
            return updated_node
        return updated_node.with_changes(last_line=cst.SimpleWhitespace(" " * (width + self._distance)))
