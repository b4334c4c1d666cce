"""A block while its new statements are put together, unit by unit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import libcst as cst

from tfmigrate.edit.align import indented
from tfmigrate.edit.by_node import EditsByNode
from tfmigrate.edit.lines import (
    Pieces,
    blank_lines,
    comment_lines,
    comments_about,
    defines,
    definitions_apart,
    going_on,
    imports,
    imports_apart,
    led,
    lines_above,
    names_bound,
    only_talks,
    statements_of,
    without_remarks,
    without_trailing_space,
)
from tfmigrate.plan.edits import Insert, Rank, Scope
from tfmigrate.walk import walk

Block = cst.Module | cst.IndentedBlock | cst.SimpleStatementSuite


class Editor(Protocol):
    """What becomes of single statements, and the edits that concern them."""

    @property
    def edits(self) -> EditsByNode: ...

    @property
    def pieces(self) -> Mapping[cst.CSTNode, Pieces]: ...

    def orphaned(self, unit: cst.CSTNode) -> list[cst.EmptyLine]:
        """The comments of a unit that goes."""

    def orphaned_apart(self, unit: cst.CSTNode) -> list[cst.EmptyLine]:
        """Those above it that stand in paragraphs of their own."""

    def leading(self, unit: cst.CSTNode) -> list[cst.EmptyLine]:
        """The lines above a unit, without the comments that go."""

    def parsed(self, edit: Insert) -> Pieces:
        """The lines that are inserted."""

    def indent(self, block: cst.CSTNode) -> str:
        """How much deeper a block stands than the statement that it belongs to."""

    def in_scope(self, scope: Scope, inner: Pieces, block: Block) -> cst.With:
        """Statements of a block, in a scope."""


class BlockInTheMaking:
    """The new statements of a block so far."""

    def __init__(self, editor: Editor, block: Block, blank: Mapping[cst.CSTNode, list[cst.EmptyLine]]) -> None:
        """`blank`: the blank lines above units that a move gives other ones."""
        self._editor = editor
        self._block = block
        self._blank = blank
        self.out: Pieces = []
        self.orphans: list[cst.EmptyLine] = []
        """Comments of removed code, which go above the next statement."""
        self._scope: Scope | None = None
        self._inner: Pieces = []
        """The statements of the scope so far."""
        self._last_scope: cst.With | None = None
        """The scope that was ended last."""
        self._fresh: Pieces = []
        """The lines inserted last."""
        self._apart: list[cst.EmptyLine] = []
        """Blank lines above the last statement that was removed."""
        self._going_on: list[cst.EmptyLine] = []
        """Comments above what was removed that go on from the statement before."""
        self._removed = False
        """Whether anything has been removed so far."""

    @property
    def left_over(self) -> list[cst.EmptyLine]:
        """Comments of what was removed at the end of the block."""
        return [*self._going_on, *self.orphans]

    def take(self, unit: cst.CSTNode) -> None:
        """Add what becomes of the next unit, and what is inserted before it."""
        editor = self._editor
        pieces, inserted = list(editor.pieces[unit]), editor.edits.inserts.get(unit, [])
        leading = self._paragraph(editor.leading(unit), pieces, inserted)
        if pieces and editor.edits.forgotten:
            pieces[0] = led(pieces[0], editor.leading(pieces[0]))
            pieces = without_remarks(pieces, editor.edits.forgotten)
        if unit in editor.edits.scopes:
            self._scope, self._inner = editor.edits.scopes[unit], []
        own = comment_lines(leading)
        if unit in self._blank:
            leading = [*self._blank[unit], *own]
            if pieces:
                pieces[0] = led(pieces[0], [*self._blank[unit], *comment_lines(pieces[0].leading_lines)])  # type: ignore[attr-defined]
        if inserted:
            inserted, leading = self._below_first_part(unit, pieces, inserted, leading)
            self._insert(unit, inserted, leading, pieces)
        elif pieces and self.out and self.out[-1] in self._fresh and self._scope is None:
            *_, pieces[0] = definitions_apart([self.out[-1], pieces[0]])
        if pieces and self._begins_anew:
            pieces[0] = led(pieces[0], comment_lines(getattr(pieces[0], "leading_lines", ())))
        self._removed = self._removed or not pieces
        if unit in editor.edits.compounds and not inserted:
            pieces = self._going_into_last_scope(pieces)
        if pieces:
            self._add(pieces)
        else:
            self._leave_orphans(unit, leading)
        if self._scope is not None and unit is self._scope.units[-1]:
            self._end(self._scope)

    def _below_first_part(
        self, unit: cst.CSTNode, pieces: Pieces, inserted: Sequence[Insert], leading: list[cst.EmptyLine]
    ) -> tuple[Sequence[Insert], list[cst.EmptyLine]]:
        """The lines to insert above what is left of a line, and those above these, once what stays above is added."""
        if (first := self._first_part(unit, pieces, inserted)) is not None:
            self._add([first])
            return inserted, []
        late = self._late(pieces, inserted)
        if late:
            self._divide(unit, pieces, [edit for edit in inserted if edit not in late], late, leading)
            return late, []
        return inserted, leading

    def _first_part(
        self, unit: cst.CSTNode, pieces: Pieces, inserted: Sequence[Insert]
    ) -> cst.SimpleStatementLine | None:
        """The statements of a line that stay above what is inserted for a later one of them, taken off; None where
        there are none. In `x = load(); model.fit(x)`, lines for fit() may read x."""
        line = pieces[0] if len(pieces) == 1 and self._scope is None else None
        if not isinstance(line, cst.SimpleStatementLine) or any(edit.rank < Rank.RULE for edit in inserted):
            return None
        count = self._before_a_reader(line, inserted)
        if count is None:
            count = self._before_an_edit(unit, line)
        if not 0 < count < len(line.body):
            return None
        *above, last = line.body[:count]
        pieces[0] = line.with_changes(leading_lines=[], body=line.body[count:])
        above.append(last.with_changes(semicolon=cst.MaybeSentinel.DEFAULT))
        return cst.SimpleStatementLine(above, leading_lines=line.leading_lines)

    def _late(self, pieces: Pieces, inserted: Sequence[Insert]) -> list[Insert]:
        """The lines above a line in a scope that read what is set in its first statements, for a later one of them."""
        line = pieces[0] if len(pieces) == 1 else None
        if not isinstance(line, cst.SimpleStatementLine) or self._scope is None:
            return []
        above = line.body[: self._before_a_reader(line, inserted) or 0]
        context = self._scope.context if isinstance(self._scope.context, str) else self._scope.context.text
        early = set(re.findall(r"\w+", context))
        told = {node.value for small in above for node in walk(small) if isinstance(node, cst.Name)}
        late: list[Insert] = []
        for edit in inserted:
            lines = self._parsed([edit])
            bound = {name for piece in lines for name in names_bound(piece)}
            read = {node.value for piece in lines for node in walk(piece) if isinstance(node, cst.Name)} - bound
            if not bound.isdisjoint(early) or edit.rank < Rank.RULE or any(map(defines, lines)):
                continue
            if not read.isdisjoint(told):
                late.append(edit)
                told |= bound
        return late if self._before_a_reader(line, late) else []

    def _divide(
        self,
        unit: cst.CSTNode,
        pieces: Pieces,
        early: Sequence[Insert],
        late: Sequence[Insert],
        leading: list[cst.EmptyLine],
    ) -> None:
        """Add the statements of a line in a scope above those that the late lines are for, and end the scope: it goes
        on below these."""
        line, scope = pieces[0], self._scope
        assert isinstance(line, cst.SimpleStatementLine)
        assert scope is not None
        count = self._before_a_reader(line, late) or 0
        *above, last = line.body[:count]
        above.append(last.with_changes(semicolon=cst.MaybeSentinel.DEFAULT))
        first: Pieces = [cst.SimpleStatementLine(above, leading_lines=line.leading_lines)]
        pieces[0] = line.with_changes(leading_lines=[], body=line.body[count:])
        if early:
            self._insert(unit, early, leading, first)
        self._add(first)
        if not all(edit.scoped for edit in late):
            self._end(scope)
            self._scope, self._inner = scope, []

    def _before_a_reader(self, line: cst.SimpleStatementLine, inserted: Sequence[Insert]) -> int | None:
        """How many statements of a line come before the first that names what the inserted lines bind."""
        new = {name for piece in self._parsed(inserted) for name in names_bound(piece)}
        named = ({node.value for node in walk(small) if isinstance(node, cst.Name)} for small in line.body)
        return next((number for number, names in enumerate(named) if not new.isdisjoint(names)), None)

    def _before_an_edit(self, unit: cst.CSTNode, line: cst.SimpleStatementLine) -> int:
        """How many statements of a line come before the first that is edited; 0 where some are gone."""
        old = unit.body if isinstance(unit, cst.SimpleStatementLine | cst.SimpleStatementSuite) else ()
        edited = [not self._editor.edits.concerned.isdisjoint(walk(small)) for small in old]
        return edited.index(True) if True in edited and len(old) == len(line.body) else 0

    def _paragraph(
        self, leading: list[cst.EmptyLine], pieces: Pieces, inserted: Sequence[Insert]
    ) -> list[cst.EmptyLine]:
        """The lines above a unit: what follows the removed beginning of a paragraph begins it; in a scope, which is one
        paragraph, where a comment does."""
        begun = self.out if self._scope is None else self._inner and self.orphans
        if (pieces or inserted) and begun and len(self._apart) > len(blank_lines(leading)):
            leading = [*self._apart, *comment_lines(leading)]
            if pieces:
                pieces[0] = led(pieces[0], [*self._apart, *comment_lines(lines_above(pieces[0]))])
        self._apart = [] if pieces or inserted else self._apart or blank_lines(leading[len(going_on(leading)) :])
        return leading

    def _leave_orphans(self, unit: cst.CSTNode, leading: list[cst.EmptyLine]) -> None:
        """Keep the comments of a unit that goes for the next one; those that go on from the statement before stay
        there, and those that moved to what is inserted are gone."""
        if unit in self._editor.edits.moved_comments:
            self.orphans.extend(self._editor.orphaned_apart(unit))
            return
        orphans = self._editor.orphaned(unit)
        before = self._inner or self.out
        staying = going_on(leading) if before else []
        if before and imports(unit) and imports(before[-1]) and not blank_lines(leading):
            staying = leading  # Of the paragraph of imports.
        if staying:
            said = [line.comment.value for line in staying if line.comment is not None]
            orphans = [line for line in orphans if line.comment is None or line.comment.value not in said]
            self._going_on.extend(staying)
        self.orphans.extend(orphans)

    @property
    def _begins_anew(self) -> bool:
        """Whether all of the block so far was removed."""
        return self._removed and not self.out and self._scope is None

    def _parsed(self, inserted: Sequence[Insert]) -> Pieces:
        """The lines that are inserted, definitions first."""
        lines = [line for edit in inserted for line in self._editor.parsed(edit)]
        return sorted(lines, key=lambda line: not defines(line))

    def _insert(
        self, unit: cst.CSTNode, inserted: Sequence[Insert], leading: list[cst.EmptyLine], pieces: Pieces
    ) -> None:
        """Add the lines that are inserted before a unit."""
        lines = self._parsed(inserted)
        moved = dict.fromkeys(gone for edit in inserted for gone in edit.comments_of)
        for gone in moved:
            if gone is unit and pieces:
                self.orphans.extend(comment_lines(leading))
            else:
                apart = len(self._editor.orphaned_apart(gone))
                self.orphans.extend(self._editor.orphaned(gone)[apart:])
        heading = _Heading(leading, unit, lines, unit in moved, bool(pieces))
        lines[0] = led(lines[0], heading.above_lines)
        # A comment of removed code is not about a helper, which comes first.
        place = next((number for number, line in enumerate(lines) if not defines(line)), None)
        over = self.orphans if place is None and pieces else []
        if not over:
            line = lines[place or 0]
            lines[place or 0] = led(line, [*lines_above(line), *self.orphans])
        self.orphans = []
        if self._begins_anew:
            lines[0] = led(lines[0], comment_lines(lines_above(lines[0])))
        lines[0] = self._below_what_goes_on(lines[0])
        if pieces:
            pieces[0] = led(pieces[0], [*over, *heading.left_above(pieces[0])])
            *lines, pieces[0] = definitions_apart(imports_apart([*lines, pieces[0]]))
        else:
            *lines, _ = definitions_apart(imports_apart([*lines, empty()]))
        scoped = self._scope is not None and all(edit.scoped for edit in inserted)
        (self._inner if scoped else self.out).extend(lines)
        self._fresh = lines

    def _add(self, pieces: Pieces) -> None:
        if self.orphans:
            above = getattr(pieces[0], "leading_lines", ())
            pieces[0] = led(pieces[0], [*blank_lines(above), *self.orphans, *comment_lines(above)])
            self.orphans = []
        pieces[0] = self._below_what_goes_on(pieces[0])
        (self._inner if self._scope is not None else self.out).extend(pieces)

    def _going_into_last_scope(self, pieces: Pieces) -> Pieces:
        """What an arm has become, without a scope that it begins with where that is the one just ended: its lines go
        there."""
        last = self.out[-1] if self.out and self._scope is None and not self.orphans else None
        first = pieces[0] if pieces else None
        if last is None or last is not self._last_scope or not isinstance(first, cst.With):
            return pieces
        assert isinstance(last, cst.With)
        alike = len(first.items) == 1 and first.items[0].item.deep_equals(last.items[0].item)
        if not alike or first.items[0].asname is not None:
            return pieces
        begin, *rest = statements_of(first.body)
        begin = led(begin, [*lines_above(first), *comment_lines(lines_above(begin))])
        body = last.body.with_changes(body=[*last.body.body, begin, *rest])
        self._last_scope = self.out[-1] = last.with_changes(body=body)
        return pieces[1:]

    def _below_what_goes_on(self, line: cst.BaseStatement) -> cst.BaseStatement:
        above, self._going_on = self._going_on, []
        return led(line, [*above, *lines_above(line)]) if above else line

    def _end(self, scope: Scope) -> None:
        """End a scope, below what an `if` has become that it began with and that only says something now."""
        while isinstance(scope.units[0], cst.If) and self._inner[1:] and only_talks(self._inner[0]):
            self.out.append(self._inner.pop(0))
        if self._inner:
            indent = self._editor.indent(self._block)
            top = isinstance(self._block, cst.Module)
            inner = [indented(without_trailing_space(piece) if top else piece, indent) for piece in self._inner]
            self._last_scope = self._editor.in_scope(scope, inner, self._block)
            self.out.append(self._last_scope)
        self._scope = None


@dataclass(frozen=True)
class _Heading:
    """The lines above a unit before which others are inserted: those above these, and those that stay with the unit."""

    leading: Sequence[cst.EmptyLine]
    unit: cst.CSTNode
    inserted: Sequence[cst.BaseStatement]
    moves: bool
    """Whether the comments of the unit go to the lines that are inserted."""
    stays: bool
    """Whether anything is left of the unit."""

    @cached_property
    def _own(self) -> list[cst.EmptyLine]:
        """The comments that are about the unit."""
        if self.moves:
            return comments_about(self.leading, (), self.unit)
        if self.stays and imports(self.unit) and all(map(imports, self.inserted)):
            return []  # What heads imports heads this one, too.
        return comments_about(self.leading, self.inserted, self.unit)

    @property
    def above_lines(self) -> Sequence[cst.EmptyLine]:
        return self.leading[: len(self.leading) - len(self._own)]

    def left_above(self, piece: cst.BaseStatement) -> Sequence[cst.EmptyLine]:
        """What is left of the lines above what the unit has become."""
        staying = comment_lines(lines_above(piece))[len(comment_lines(self.leading)) - len(self._own) :]
        return staying[len(self._own) :] if self.moves else staying


def empty() -> cst.SimpleStatementLine:
    """What stands in a block that has nothing left."""
    return cst.SimpleStatementLine([cst.Pass()])
