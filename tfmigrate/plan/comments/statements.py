"""What the edits of a draft do to its statements, for what is said about them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Arguments, Collapse, Edit, ImportNames, Insert, Remove, Replace, Unwrap, of_kind
from tfmigrate.understand.blocks import Unit, units_of
from tfmigrate.understand.syntax import last_word
from tfmigrate.walk import nodes_in, walk
from tfmigrate.written import nodes_of


class Changes:
    """What the edits of a draft do to its statements."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._module = draft.module

    # ---- statements, by what becomes of them ----

    @cached_property
    def removed(self) -> set[cst.CSTNode]:
        return {edit.node for edit in of_kind(self._draft.edits, Remove)}

    @cached_property
    def imports(self) -> set[cst.Import | cst.ImportFrom]:
        """Import statements that go."""
        return {edit.node for edit in of_kind(self._draft.edits, ImportNames) if not edit.parts}

    @cached_property
    def unwrapped(self) -> set[cst.CSTNode]:
        """Compound statements of which at most the content stays."""
        return {edit.unit for edit in of_kind(self._draft.edits, Unwrap)}

    @cached_property
    def one_arm_of(self) -> dict[cst.CSTNode, cst.BaseSuite]:
        """Choices of two arms that say the same now, and the arm that stays."""
        return {
            edit.unit: edit.suite
            for edit in of_kind(self._draft.edits, Unwrap)
            if edit.suite is not None and isinstance(edit.unit, cst.If) and isinstance(edit.unit.orelse, cst.Else)
        }

    @cached_property
    def whole(self) -> set[cst.CSTNode]:
        """Those that go with all that is in them."""
        return {edit.unit for edit in of_kind(self._draft.edits, Unwrap) if edit.suite is None}

    @cached_property
    def collapsed(self) -> set[cst.CSTNode]:
        """Choices with nothing left to choose."""
        return {edit.node for edit in of_kind(self._draft.edits, Collapse)}

    @cached_property
    def moved(self) -> set[cst.CSTNode]:
        """Statements whose comments move to a line that is written."""
        return {unit for edit in of_kind(self._draft.edits, Insert) for unit in edit.comments_of}

    @cached_property
    def wrapping(self) -> set[Unit]:
        """Statements with a wrap, whose comments stay where they are."""
        return {wrap.site.unit for wrap in self._draft.facts.wraps} - self.moved

    def removes(self, unit: cst.SimpleStatementLine | cst.SimpleStatementSuite) -> bool:
        return all(small in self.removed or small in self.imports for small in unit.body)

    def empties(self, unit: cst.CSTNode | None) -> bool:
        """Whether a choice goes with all that it chose, while its strategy stands elsewhere."""
        return (
            isinstance(unit, cst.If)
            and unit in self.unwrapped
            and unit not in self.moved
            and unit.orelse is None
            and all(
                isinstance(line, cst.SimpleStatementLine | cst.SimpleStatementSuite)
                and line not in self.moved
                and self.removes(line)
                for line in units_of(unit.body)
            )
        )

    def ends_with(self, unit: cst.CSTNode) -> bool:
        """Whether nothing stays of the paragraph from a unit on, so that a comment above it leads nothing."""
        place = self._module.places[unit]
        for following in units_of(place.block)[place.index + 1 :]:
            lines = getattr(following, "leading_lines", ())
            if any(line.comment is None for line in lines):
                return True
            if lines or not self.lets_go(following):
                return False
        return True

    def lets_go(self, unit: cst.CSTNode) -> bool:
        """Whether a unit goes, and nothing of what it says is written elsewhere."""
        if unit in self.whole:
            return True
        if not isinstance(unit, cst.SimpleStatementLine) or unit in self.moved or unit in self.wrapping:
            return False
        if not self.removes(unit):
            return False
        if any(self._module.code(small).strip() in self._lines for small in unit.body):
            return False
        return not any(node in self._reused or self._is_written(node) for node in walk(unit))

    # ---- what is written ----

    @cached_property
    def renamed(self) -> set[cst.CSTNode]:
        """Names in whose place others are written."""
        return {edit.node for edit in of_kind(self._draft.edits, Replace) if isinstance(edit.node, cst.Name)}

    @cached_property
    def without_mean(self) -> set[cst.CSTNode]:
        """Means in whose place what they are the mean of is written."""
        return {
            edit.node
            for edit in of_kind(self._draft.edits, Replace)
            if isinstance(edit.node, cst.Call)
            and last_word(edit.node.func) in ("mean", "reduce_mean")
            and edit.parts == tuple(arg.value for arg in edit.node.args[:1])
        }

    @cached_property
    def calls_below_lines(self) -> set[cst.Call]:
        """Calls below lines that are written for them: what they were given may be said there."""
        below = {edit.before for edit in of_kind(self._draft.edits, Insert)}
        lines = (unit for unit in below if isinstance(unit, cst.SimpleStatementLine))
        return {call for line in lines for call in nodes_in(line, cst.Call)}

    @cached_property
    def _reused(self) -> set[cst.CSTNode]:
        """Nodes that are put in another place."""
        return {node for edit in self._draft.edits for node in _put_in(edit)}

    @cached_property
    def _written(self) -> str:
        return "\n".join(code for _, code in self._draft.written())

    @cached_property
    def _lines(self) -> frozenset[str]:
        return frozenset(self._written.splitlines())

    def _is_written(self, node: cst.CSTNode) -> bool:
        """Whether an edit writes a literal of the removed code: a comment about it is still true there."""
        if not isinstance(node, cst.Float | cst.Integer | cst.SimpleString):
            return False
        return re.search(rf"(?<![\w.]){re.escape(node.value)}(?![\w.])", self._written) is not None


def _put_in(edit: Edit) -> Iterator[cst.CSTNode]:
    """The nodes of the program that an edit puts in another place."""
    parts: list[cst.BaseExpression] = []
    if isinstance(edit, Replace):
        parts.extend(edit.parts)
    elif isinstance(edit, Arguments):
        for argument in edit.arguments:
            parts.extend(nodes_of(argument.code))
            if not isinstance(argument.value, str):
                parts.append(argument.value)
    for part in parts:
        yield from walk(part)
