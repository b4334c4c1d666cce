"""The functions and classes of helpers/, as a module of the user's program gets them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import libcst as cst

from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.functions import place_for_function, with_function
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Insert, Rank
from tfmigrate.plan.helpers import definition

LeaveOut = Callable[[cst.BaseStatement], bool]
"""Whether the program does not need a statement of a helper."""


@dataclass(frozen=True, eq=False)
class Helper:
    """A function or class of helpers/ that is written into one module."""

    draft: Draft
    wanted: str
    """What it is called in helpers/."""
    source: str
    """The module of helpers/ that defines it."""
    name: str
    """What it is called in the user's module, where that is free everywhere."""

    @classmethod
    def of(cls, draft: Draft, wanted: str, source: str | None = None) -> Helper:
        """`source`: the module that defines it, where that is not called after it."""
        return cls(draft, wanted, source or wanted, draft.scopes.fresh(wanted, draft.scopes.module))

    def __str__(self) -> str:
        return self.name

    def code(self, leave_out: LeaveOut | None = None) -> str:
        names = {"tf": self.draft.tf, self.wanted: self.name}
        indent = self.draft.module.tree.default_indent
        return definition(self.source, names, indent, self.draft.quote, leave_out)

    def brought_by(
        self,
        users: Iterable[cst.CSTNode],
        changes: Iterable[CallChange],
        rank: Rank = Rank.RULE,
        leave_out: LeaveOut | None = None,
    ) -> Iterator[CallChange]:
        """The changes, which make `users` call it; each brings it along, and it is written once."""
        yield from with_function(self.draft.module, partial(self.code, leave_out), users, changes, rank)

    def above(self, users: Iterable[cst.CSTNode], rank: Rank = Rank.RULE) -> Insert:
        """It, where `users` can call it."""
        return Insert(place_for_function(self.draft.module, users), self.code(), rank=rank)
