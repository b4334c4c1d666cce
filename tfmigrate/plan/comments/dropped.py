"""Comments at arguments that a call no longer gets."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import libcst as cst

from tfmigrate.plan.comments.words import is_code, names_one
from tfmigrate.plan.edits import Arguments
from tfmigrate.walk import space_round


def comments_of_dropped(edit: Arguments) -> Iterator[cst.Comment]:
    """The comments behind dropped arguments of a call, on lines that hold nothing else, and above these lines."""
    stay = {argument.source for argument in edit.arguments if argument.source is not None}
    ends_anew = bool(edit.arguments) and edit.arguments[-1].source is None
    for run in _runs(edit.call.args, stay):
        dropped = _Dropped(edit.call, run)
        if not (dropped.is_last and ends_anew):
            yield from (comment for comment in dropped.comments() if not is_code(comment))


def _runs(args: Sequence[cst.Arg], stay: Container[cst.Arg]) -> Iterator[list[cst.Arg]]:
    """The arguments that do not stay, those together that follow each other."""
    for staying, run in groupby(args, key=lambda arg: arg in stay):
        if not staying:
            yield list(run)


@dataclass(frozen=True)
class _Dropped:
    """Arguments of a call that are dropped, one after the other."""

    call: cst.Call
    run: Sequence[cst.Arg]

    @property
    def is_first(self) -> bool:
        return self.run[0] is self.call.args[0]

    @property
    def is_last(self) -> bool:
        return self.run[-1] is self.call.args[-1]

    @cached_property
    def _space(self) -> list[cst.BaseParenthesizableWhitespace]:
        """What stands before the first of them, between each two, and behind the last."""
        first = self.call.args.index(self.run[0])
        return space_round(self.call)[first : first + len(self.run) + 1]

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
        for comment in self._above():
            if not self._heads_more() or names_one(self.run, comment):
                yield comment

    def _above(self) -> Iterator[cst.Comment]:
        ends_a_line = isinstance(self._space[-1], cst.ParenthesizedWhitespace)
        spaces = self._breaks if self.is_last and not ends_a_line else self._breaks[:-1]
        for space in spaces:
            yield from (line.comment for line in space.empty_lines if line.comment is not None)

    def _heads_more(self) -> bool:
        """Whether an argument follows that has no comment of its own above it."""
        return not self.is_last and not any(line.comment for space in self._breaks[-1:] for line in space.empty_lines)
