"""Lists that get one more element."""

from __future__ import annotations

import libcst as cst


def longer(updated: cst.List, value: cst.BaseExpression) -> cst.List:
    """A list with one more element, which is separated from the last as that is from the one before it."""
    new = cst.Element(value)
    if not updated.elements:
        return updated.with_changes(elements=[new])
    *others, last = updated.elements
    before = others[-1].comma if others else None
    between = before.whitespace_after if isinstance(before, cst.Comma) else updated.lbracket.whitespace_after
    end, bracket = updated.rbracket.whitespace_before, updated.rbracket
    if isinstance(between, cst.ParenthesizedWhitespace):
        own = cst.TrailingWhitespace()
        if isinstance(end, cst.ParenthesizedWhitespace):  # A comment behind the last element stays with it.
            own, bracket = end.first_line, bracket.with_changes(whitespace_before=end.with_changes(first_line=own))
        between = between.with_changes(first_line=own)
    elif between.empty:
        between = cst.SimpleWhitespace(" ")
    elements = [
        *others,
        last.with_changes(comma=cst.Comma(whitespace_after=between)),
        new.with_changes(comma=last.comma),
    ]
    return updated.with_changes(elements=elements, rbracket=bracket)
