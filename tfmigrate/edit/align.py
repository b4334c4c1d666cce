"""Lines that a statement goes on with move with it: those lined up under an opening bracket when the text before the
bracket changes, those behind a backslash when the statement is indented."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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


def equals_kept(
    original: cst.BaseSmallStatement, small: cst.BaseSmallStatement, tree: cst.Module
) -> cst.BaseSmallStatement:
    """An assignment whose `=` stands where it stood, in a column with those of others, though its target is another."""
    if not isinstance(original, cst.Assign) or not isinstance(small, cst.Assign) or len(original.targets) > 1:
        return small
    (old,), (new, *more) = original.targets, small.targets
    space = old.whitespace_before_equal.value
    shorter = len(tree.code_for_node(old.target)) - len(tree.code_for_node(new.target))
    if more or len(space) < 2 or space.strip(" ") or not shorter:
        return small
    kept = new.with_changes(whitespace_before_equal=cst.SimpleWhitespace(" " * max(1, len(space) + shorter)))
    return small.with_changes(targets=[kept])


def dedented(statement: _Node, indent: str) -> _Node:
    """The same to the left."""
    moved = statement.visit(_Behind("\n", f"\n{indent}"))
    assert isinstance(moved, type(statement))
    return moved


def realigned(
    original: cst.SimpleStatementLine, updated: cst.SimpleStatementLine, tree: cst.Module
) -> cst.SimpleStatementLine:
    """`updated` with its continuation lines shifted as far as the bracket moved that they stood under in `original`."""
    shifted = _shifted(original, updated, tree)
    assert isinstance(shifted, cst.SimpleStatementLine)
    return shifted


def realigned_head(
    original: cst.BaseCompoundStatement, updated: cst.CSTNode, tree: cst.Module
) -> cst.BaseCompoundStatement:
    """The same of `if`, `while`, `for` and `with`, for the lines above their blocks."""
    assert isinstance(updated, cst.BaseCompoundStatement)
    fields = _HEADS.get(type(original), ())
    if all(_is_same(getattr(original, field), getattr(updated, field)) for field in fields):
        return updated
    short = _shifted(_without_blocks(original), _without_blocks(updated), tree)
    return updated.with_changes(**{field: getattr(short, field) for field in fields})


_HEADS: Mapping[type[cst.CSTNode], tuple[str, ...]] = {
    cst.If: ("test",),
    cst.While: ("test",),
    cst.For: ("target", "iter"),
    cst.With: ("items",),
}


def _is_same(old: object, new: object) -> bool:
    if isinstance(old, Sequence) and isinstance(new, Sequence):
        return len(old) == len(new) and all(map(operator.is_, old, new))
    return old is new


def _without_blocks(statement: cst.BaseCompoundStatement) -> cst.CSTNode:
    empty: dict[str, object] = {"body": cst.SimpleStatementSuite([cst.Pass()]), "leading_lines": ()}
    if isinstance(statement, cst.If | cst.While | cst.For):
        empty["orelse"] = None
    return statement.with_changes(**empty)


def _shifted(original: cst.CSTNode, updated: cst.CSTNode, tree: cst.Module) -> cst.CSTNode:
    if not nodes_in(original, cst.ParenthesizedWhitespace, layout=True):
        return updated  # Most statements are one line, and building their text is slow.
    old = _Lines.of(original, tree)
    if not old.spaces:
        return updated
    new = _Lines.of(updated, tree)
    known = {id(space): number for number, space in enumerate(old.spaces)}
    moved: dict[int, int] = {}
    before = old.brackets({})

    def distance(number: int, brackets: Sequence[_Bracket]) -> int:
        """How far a line of the new statement moves, of which brackets are open: as far as that which it stands under,
        or as the line that ends in one."""
        place = known.get(id(new.spaces[number]))
        width = len(old.spaces[place].value) if place is not None else 0
        for here, there in zip(reversed(before[place]), reversed(brackets), strict=False) if place is not None else ():
            if not here.followed:
                return there.moved
            if here.column <= width + 1:  # Some stand under the bracket itself.
                return there.column - here.column
        return 0

    new.brackets(moved, distance)
    if not any(moved.values()):
        return updated
    widths = {id(space): len(space.value) + moved[number] for number, space in enumerate(new.spaces)}

    def widened(space: cst.SimpleWhitespace) -> cst.SimpleWhitespace:
        width = widths.get(id(space), len(space.value))
        return space if width == len(space.value) else cst.SimpleWhitespace(" " * max(0, width))

    result = updated.visit(_Beginnings(widened))
    assert isinstance(result, cst.CSTNode)
    return result


@dataclass(frozen=True)
class _Bracket:
    """One that is open at the beginning of a line."""

    column: int
    """Behind it."""
    followed: bool
    """Whether something follows it in its line."""
    moved: int
    """How far its line moves."""


_MARK = "\f"
"""Stands for the space that a line begins with, in the text of a statement; else such a character is hardly used."""


@dataclass(frozen=True)
class _Lines:
    """A statement's text and the space that each line inside brackets begins with, in order."""

    text: str
    spaces: tuple[cst.SimpleWhitespace, ...]

    @classmethod
    def of(cls, statement: cst.CSTNode, tree: cst.Module) -> _Lines:
        spaces: list[cst.SimpleWhitespace] = []

        def mark(space: cst.SimpleWhitespace) -> cst.SimpleWhitespace:
            if space.value.strip(" "):
                return space  # tabs
            spaces.append(space)
            return cst.SimpleWhitespace(_MARK)

        marked = statement.visit(_Beginnings(mark))
        assert isinstance(marked, cst.CSTNode)
        if isinstance(marked, cst.SimpleStatementLine):
            marked = marked.with_changes(leading_lines=())
        return cls(tree.code_for_node(marked).lstrip(), tuple(spaces))

    def brackets(
        self, moved: dict[int, int], distance: Callable[[int, Sequence[_Bracket]], int] = lambda number, brackets: 0
    ) -> list[tuple[_Bracket, ...]]:
        """For each line the brackets that are open at its beginning, outermost first. `moved` is filled with how far
        each line moves, which `distance` tells."""
        found: list[tuple[_Bracket, ...]] = []
        opened: list[_Bracket] = []
        column = place = 0
        text = self.text
        while place < len(text) and len(found) <= len(self.spaces):
            sign = text[place]
            string = _STRING.match(text, place) if sign in "'\"" else None
            if string is not None:
                *_, last = string.group().split("\n")
                column = len(last) + (column if "\n" not in string.group() else 0)
                place = string.end()
                continue
            if sign == "#":
                place = text.find("\n", place) if "\n" in text[place:] else len(text)
                continue
            place, column = place + 1, column + 1
            if sign in "\r\n":
                column = 0
            elif sign == _MARK and len(found) < len(self.spaces):
                number = len(found)
                found.append(tuple(opened))
                moved[number] = distance(number, found[-1])
                column = len(self.spaces[number].value) + moved[number]
            elif sign in "([{":
                rest, _, _ = text[place:].partition("\n")
                opened.append(_Bracket(column, bool(rest.strip()), moved.get(len(found) - 1, 0)))
            elif sign in ")]}" and opened:
                opened.pop()
        return found


_STRING = re.compile(
    r"""\"{3}(?:[^\\]|\\.)*?\"{3}|'{3}(?:[^\\]|\\.)*?'{3}|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""", re.DOTALL
)


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


class _Beginnings(cst.CSTTransformer):
    """Other space at the beginning of each line inside brackets, also of a comment's own."""

    def __init__(self, other: Callable[[cst.SimpleWhitespace], cst.SimpleWhitespace]) -> None:
        super().__init__()
        self._other = other

    def leave_ParenthesizedWhitespace(
        self, original_node: cst.ParenthesizedWhitespace, updated_node: cst.ParenthesizedWhitespace
    ) -> cst.ParenthesizedWhitespace:
        lines = [
            line.with_changes(whitespace=self._other(line.whitespace)) if _has_comment(line) else line
            for line in original_node.empty_lines
        ]
        last = self._other(original_node.last_line) if original_node.indent else original_node.last_line
        return updated_node.with_changes(empty_lines=lines, last_line=last)


def _has_comment(line: cst.EmptyLine) -> bool:
    """Whether a line has a comment alone, which stands under the bracket like the arguments round it."""
    return line.comment is not None and line.indent
