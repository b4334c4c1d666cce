"""Statements that never run, because the block leaves above them."""

from __future__ import annotations

import libcst as cst

from tfmigrate.understand.blocks import Unit, units_of
from tfmigrate.understand.module import Module
from tfmigrate.walk import walk

_LEAVING = cst.Return | cst.Raise | cst.Continue | cst.Break


def never_runs(node: cst.CSTNode, module: Module) -> bool:
    """Whether an expression stands behind a `return`, `raise`, `continue` or `break` of a block round it."""
    for unit in (unit for unit in module.places if node in walk(unit)):
        place = module.places[unit]
        if any(map(_leaves, units_of(place.block)[: place.index])):
            return True
    return False


def leaves(block: cst.Module | cst.BaseSuite) -> bool:
    """Whether what follows a block is never reached from it."""
    return any(map(_leaves, units_of(block)))


def _leaves(unit: Unit) -> bool:
    """Whether what follows a statement is never reached."""
    if isinstance(unit, cst.SimpleStatementLine | cst.SimpleStatementSuite):
        return any(isinstance(small, _LEAVING) for small in unit.body)
    if isinstance(unit, cst.If) and unit.orelse is not None:
        other = unit.orelse
        return leaves(unit.body) and (_leaves(other) if isinstance(other, cst.If) else leaves(other.body))
    return False
