"""Comments that go with the code that they are about. Every other comment of removed code stays in the file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import libcst as cst

from tfmigrate.plan.comments.dropped import comments_of_dropped, comments_of_left_out
from tfmigrate.plan.comments.statements import Changes
from tfmigrate.plan.comments.words import (
    OF_DEVICES,
    OF_MEANS,
    OF_ONE_CASE,
    OF_SESSIONS,
    OF_SEVERAL,
    ON_CPU,
    PARALLEL,
    is_code,
    may_hold_for_more,
    speaking_of,
)
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Arguments, Forget, Shorten, of_kind
from tfmigrate.plan.strategy.guards import device_of
from tfmigrate.understand import names
from tfmigrate.understand.blocks import only_statement, suites_of, units_of
from tfmigrate.understand.import_statements import imports_at, imports_of
from tfmigrate.understand.syntax import dotted
from tfmigrate.walk import comments_of, walk


def comments_that_go(draft: Draft) -> Iterator[Forget]:
    """What the edits so far make meaningless: comments of a removed statement, and claims that are no longer true."""
    if not draft.edits:
        return
    changes = Changes(draft)
    going = _Going(draft, changes)
    obsolete = [comment for unit in draft.module.places for comment in going.at(unit)]
    # What a call was given may be said in the lines that are written above it.
    calls = (e for e in draft.edits if isinstance(e, Arguments) and e.call not in changes.calls_below_lines)
    obsolete += (comment for edit in calls for comment in comments_of_dropped(edit))
    obsolete += comments_of_left_out(of_kind(draft.edits, Shorten))
    yield from map(Forget, dict.fromkeys(obsolete))


class _Going:
    """Which comments go with the edits of a draft."""

    def __init__(self, draft: Draft, changes: Changes) -> None:
        self._draft = draft
        self._changes = changes

    def at(self, unit: cst.CSTNode) -> Iterator[cst.Comment]:
        """The comments that go of those above a unit, behind it, and in it where it goes whole."""
        changes, above = self._changes, self._above(unit)
        if unit in changes.unwrapped and device_of(unit, self._draft.facts) is not None:
            yield from self._of_a_device(unit)
        if unit in changes.unwrapped or unit in changes.collapsed:
            yield from speaking_of(OF_SEVERAL if changes.empties(unit) else PARALLEL, above)
            if changes.empties(unit):
                yield from speaking_of(OF_SEVERAL, self._above_names(unit))
        if isinstance(unit, cst.If) and unit in changes.one_arm_of:
            yield from self._of_arms(unit, changes.one_arm_of[unit])
        if isinstance(unit, cst.SimpleStatementLine):
            yield from self._of_parts(unit, above)
            if changes.removes(unit) and _MAKES_SESSION.search(self._draft.module.code(unit)):
                yield from speaking_of(OF_SESSIONS, above)
        if unit in changes.whole and isinstance(unit, cst.FunctionDef | cst.ClassDef):
            yield from (*above, *_own(unit))
        elif unit in changes.moved or unit in changes.wrapping or unit in changes.whole:
            yield from self._of_a_wrap(unit, above)
        elif isinstance(unit, cst.SimpleStatementLine) and changes.lets_go(unit):
            yield from self._of_a_line(unit, above)

    def _of_arms(self, choice: cst.If, staying: cst.BaseSuite) -> Iterator[cst.Comment]:
        """What was said in the arm that goes, and in the other one of the case that it was for."""
        for suite in suites_of(choice):
            for unit in units_of(suite):
                if suite is staying:
                    yield from speaking_of(OF_ONE_CASE, self._above(unit))
                elif unit not in self._changes.moved:
                    yield from self._above(unit)

    def _of_parts(self, line: cst.SimpleStatementLine, above: Sequence[cst.Comment]) -> Iterator[cst.Comment]:
        """Code in a statement that goes, and claims about a name that becomes another."""
        gone = (small for small in line.body if small in self._changes.removed)
        yield from (comment for small in gone for comment in comments_of(small) if is_code(comment))
        if not self._changes.renamed.isdisjoint(walk(line)):
            yield from speaking_of(PARALLEL, above)
        if not self._changes.without_mean.isdisjoint(walk(line)):
            yield from speaking_of(OF_MEANS, above)

    def _of_a_wrap(self, unit: cst.CSTNode, above: Sequence[cst.Comment]) -> Iterator[cst.Comment]:
        """Claims about the parallel model, where it is made or chosen.

        Other sentences may be about the strategy, but where the choice that held them goes with the wrap.
        """
        changes = self._changes
        wraps = unit in changes.wrapping
        emptied = wraps and changes.empties(self._draft.module.places[unit].owner)
        yield from speaking_of(OF_SEVERAL if emptied else PARALLEL, above)
        if wraps and isinstance(unit, cst.SimpleStatementLine) and changes.removes(unit):
            yield from _said_in(unit)

    def _of_a_line(self, line: cst.SimpleStatementLine, above: Sequence[cst.Comment]) -> Iterator[cst.Comment]:
        """What is said of a line that goes: in it, and above it unless that leads other lines, too."""
        yield from _said_in(line)
        ends = self._changes.ends_with(line)
        if any(small in self._changes.imports for small in line.body):
            if ends and _imports_wrapper(line):
                yield from speaking_of(OF_SEVERAL, above)
        else:
            yield from above if ends else speaking_of(_claims_about(line), above)

    def _of_a_device(self, unit: cst.CSTNode) -> Iterator[cst.Comment]:
        """Claims about where the template is: above the block, behind its first line, and above what it begins with."""
        assert isinstance(unit, cst.With)
        first: cst.CSTNode | None = next(iter(units_of(unit.body)), None)
        behind = unit.body.header if isinstance(unit.body, cst.IndentedBlock) else None
        behind_comments = comments_of(behind) if behind is not None else []
        for comments in (self._above(unit), behind_comments, self._above(first) if first is not None else []):
            yield from speaking_of(OF_DEVICES, comments)
        for line in units_of(unit.body):
            if isinstance(line, cst.SimpleStatementLine):
                yield from (comment for comment in _own(line) if ON_CPU.search(comment.value) and not is_code(comment))

    def _above_names(self, unit: cst.CSTNode) -> list[cst.Comment]:
        """The comments above lines that only give the model another name, directly above a unit: `base = model`."""
        block = units_of(self._draft.module.places[unit].block)
        for line in block[: self._draft.module.places[unit].index][::-1]:
            small = only_statement(line)
            if getattr(unit, "leading_lines", ()) or not isinstance(small, cst.Assign) or not dotted(small.value):
                break
            unit = line
            if getattr(unit, "leading_lines", ()):
                return self._above(unit)
        return []

    def _above(self, unit: cst.CSTNode) -> list[cst.Comment]:
        """The comments directly above a unit, without a blank line between, that may speak of it alone."""
        place = self._draft.module.places[unit]
        if place.owner is None and place.index == 0:
            return []  # The head of a file.
        lines: Sequence[cst.EmptyLine] = getattr(unit, "leading_lines", ())
        blank = max((number for number, line in enumerate(lines, 1) if line.comment is None), default=0)
        comments = [line.comment for line in lines[blank:] if line.comment is not None]
        return [] if any(map(may_hold_for_more, comments)) else comments


_MAKES_SESSION = re.compile(r"\b(?:set_session|Session|ConfigProto)\(")


def _imports_wrapper(line: cst.SimpleStatementLine) -> bool:
    """Whether a line imports multi_gpu_model, and nothing else."""
    imported = [names.canonical(full) for statement in imports_at(line) for _, _, full in imports_of(statement)]
    return bool(imported) and set(imported) == {names.MULTI_GPU_MODEL}


def _claims_about(line: cst.SimpleStatementLine) -> re.Pattern[str]:
    """Words of what a line makes: the parallel model, or the names that it binds."""
    bound = "|".join(map(re.escape, _bound(line)))
    own = rf"|\b(?:{bound})\b" if bound else ""
    return re.compile(f"{PARALLEL.pattern}{own}", re.IGNORECASE)


def _said_in(unit: cst.CSTNode) -> Iterator[cst.Comment]:
    """The comments in a unit and behind it that are no code."""
    return (comment for comment in _own(unit) if not is_code(comment))


def _own(unit: cst.CSTNode) -> list[cst.Comment]:
    """The comments in a unit and behind it, without those above."""
    above = {line.comment for line in getattr(unit, "leading_lines", ())}
    return [comment for comment in comments_of(unit) if comment not in above]


def _bound(unit: cst.SimpleStatementLine) -> Iterator[str]:
    """The names that a line binds; a short one may be a word of any sentence."""
    for small in unit.body:
        for target in small.targets if isinstance(small, cst.Assign) else ():
            if isinstance(target.target, cst.Name) and "_" in target.target.value:
                yield target.target.value
