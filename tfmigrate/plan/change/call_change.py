"""One change of a call, and the claim that it makes."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan.change.calls import Revision
from tfmigrate.plan.edits import Edit
from tfmigrate.result import Action


@dataclass(frozen=True)
class CallChange:
    """What one rule does at one place, and the claim it makes; a `warn` claims without doing."""

    code: str
    node: cst.CSTNode
    message: str
    edit: Edit | Revision | None = None
    action: Action = "rewrite"
    more: tuple[Edit, ...] = ()
    """Further edits, where it takes several."""
    speaks_for: tuple[cst.CSTNode, ...] = ()
    """Names of which a warning says enough, so that nothing is said of each."""

    @property
    def edits(self) -> tuple[Edit | Revision, ...]:
        return (self.edit, *self.more) if self.edit is not None else self.more
