"""Lists that get one more element, and dicts that lose some."""

from __future__ import annotations

from collections.abc import Container

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


def shorter(
    original: cst.Dict, updated: cst.Dict, gone: Container[cst.CSTNode], forgotten: Container[cst.CSTNode] = ()
) -> cst.Dict:
    """A dict without some of its elements. What is said above one stays where that is not forgotten."""
    elements = list(updated.elements)
    commas = [element.comma for element in original.elements]
    spaces = [original.lbrace.whitespace_after]
    spaces += [comma.whitespace_after for comma in commas[:-1] if isinstance(comma, cst.Comma)]
    spaces = [_without(space, forgotten) for space in (*spaces, original.rbrace.whitespace_before)]
    for index in reversed(range(len(elements))):
        if original.elements[index] in gone:
            first, last = index == 0, index == len(elements) - 1
            del elements[index]
            spaces[index : index + 2] = [_between(spaces[index], spaces[index + 1], first=first, last=last)]
    if not elements:
        return cst.Dict([], lpar=updated.lpar, rpar=updated.rpar)
    *others, end = elements
    between = [cst.Comma(whitespace_after=space) for space in spaces[1:-1]]
    return updated.with_changes(
        elements=[
            *(element.with_changes(comma=comma) for element, comma in zip(others, between, strict=True)),
            end.with_changes(comma=commas[-1]),
        ],
        lbrace=updated.lbrace.with_changes(whitespace_after=spaces[0]),
        rbrace=updated.rbrace.with_changes(whitespace_before=spaces[-1]),
    )


def _between(
    before: cst.BaseParenthesizableWhitespace,
    after: cst.BaseParenthesizableWhitespace,
    *,
    first: bool,
    last: bool,
) -> cst.BaseParenthesizableWhitespace:
    """The space that is left where an element goes, which stood between two."""
    if isinstance(before, cst.ParenthesizedWhitespace) and isinstance(after, cst.ParenthesizedWhitespace):
        return after.with_changes(first_line=before.first_line, empty_lines=[*before.empty_lines, *after.empty_lines])
    kept, other = (before, after) if first or not last else (after, before)
    if _has_comment(other) or not (first or last or isinstance(kept, cst.ParenthesizedWhitespace)):
        return other
    return kept


def _has_comment(space: cst.BaseParenthesizableWhitespace) -> bool:
    if not isinstance(space, cst.ParenthesizedWhitespace):
        return False
    return space.first_line.comment is not None or any(line.comment is not None for line in space.empty_lines)


def _without(
    space: cst.BaseParenthesizableWhitespace, forgotten: Container[cst.CSTNode]
) -> cst.BaseParenthesizableWhitespace:
    if not isinstance(space, cst.ParenthesizedWhitespace):
        return space
    lines = [line for line in space.empty_lines if line.comment is None or line.comment not in forgotten]
    first = cst.TrailingWhitespace() if space.first_line.comment in forgotten else space.first_line
    return space.with_changes(first_line=first, empty_lines=lines)
