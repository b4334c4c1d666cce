"""Comments at arguments that a call no longer gets, itself or through a dict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import libcst as cst

from tfmigrate.plan.change.calls import text_of
from tfmigrate.plan.comments.words import is_code, names_one
from tfmigrate.plan.edits import Arguments, Shorten
from tfmigrate.walk import space_round


def comments_of_dropped(edit: Arguments) -> Iterator[cst.Comment]:
    """The comments behind dropped arguments of a call, on lines that hold nothing else, and above these lines."""
    stay = {argument.source for argument in edit.arguments if argument.source is not None}
    ends_anew = bool(edit.arguments) and edit.arguments[-1].source is None
    names = [arg.keyword.value if arg.keyword is not None else None for arg in edit.call.args]
    for run in _runs([arg not in stay for arg in edit.call.args]):
        dropped = _Dropped(names, space_round(edit.call), run)
        if not (dropped.is_last and ends_anew):
            yield from (comment for comment in dropped.comments() if not is_code(comment))


def comments_of_left_out(edits: Iterable[Shorten]) -> Iterator[cst.Comment]:
    """The same for what dicts lose."""
    gone: dict[cst.Dict, list[cst.BaseDictElement]] = {}
    for edit in edits:
        gone.setdefault(edit.node, []).append(edit.element)
    for display, lost in gone.items():
        commas = (element.comma for element in display.elements[:-1])
        between = [comma.whitespace_after for comma in commas if isinstance(comma, cst.Comma)]
        spaces = [display.lbrace.whitespace_after, *between, display.rbrace.whitespace_before]
        names = [text_of(e.key) if isinstance(e, cst.DictElement) else None for e in display.elements]
        for run in _runs([element in lost for element in display.elements]):
            dropped = _Dropped(names, spaces, run)
            yield from (comment for comment in dropped.comments() if not is_code(comment))


def _runs(gone: Sequence[bool]) -> Iterator[range]:
    """The places of those that go, those together that follow each other."""
    for goes, run in groupby(range(len(gone)), key=gone.__getitem__):
        if goes:
            first, *more = run
            yield range(first, first + len(more) + 1)


@dataclass(frozen=True)
class _Dropped:
    """Arguments that are dropped, one after the other."""

    names: Sequence[str | None]
    """Of all the arguments, as far as they have any."""
    spaces: Sequence[cst.BaseParenthesizableWhitespace]
    """Before the first argument, between each two, and behind the last."""
    run: range

    @property
    def is_first(self) -> bool:
        return self.run[0] == 0

    @property
    def is_last(self) -> bool:
        return self.run[-1] == len(self.names) - 1

    @property
    def _space(self) -> Sequence[cst.BaseParenthesizableWhitespace]:
        """What stands before the first of them, between each two, and behind the last."""
        return self.spaces[self.run.start : self.run.stop + 1]

    @cached_property
    def _breaks(self) -> list[cst.ParenthesizedWhitespace]:
        """The line breaks among that."""
        return [space for space in self._space if isinstance(space, cst.ParenthesizedWhitespace)]

    def comments(self) -> Iterator[cst.Comment]:
        """Those behind the arguments, on lines that hold nothing else, and above these lines.

        One above may speak of the argument that follows as well, where that has none of its own.
        """
        begins_a_line = isinstance(self._space[0], cst.ParenthesizedWhitespace)
        behind = self._breaks if self.is_first and not begins_a_line else self._breaks[1:]
        yield from (space.first_line.comment for space in behind if space.first_line.comment is not None)
        dropped = [name for index in self.run if (name := self.names[index]) is not None]
        for comment in self._above():
            if not self._heads_more() or names_one(dropped, comment):
                yield comment

    def _above(self) -> Iterator[cst.Comment]:
        ends_a_line = isinstance(self._space[-1], cst.ParenthesizedWhitespace)
        spaces = self._breaks if self.is_last and not ends_a_line else self._breaks[:-1]
        for space in spaces:
            yield from (line.comment for line in space.empty_lines if line.comment is not None)

    def _heads_more(self) -> bool:
        """Whether an argument follows that has no comment of its own above it."""
        return not self.is_last and not any(line.comment for space in self._breaks[-1:] for line in space.empty_lines)
