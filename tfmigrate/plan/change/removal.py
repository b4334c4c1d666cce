"""Statements that go, and what is left empty with them."""

from __future__ import annotations

import libcst as cst

from tfmigrate.plan.edits import Remove, Unwrap
from tfmigrate.understand.blocks import only_statement, units_of
from tfmigrate.understand.module import Module
from tfmigrate.understand.purity import is_pure


def without(statement: cst.BaseSmallStatement, module: Module) -> Remove | Unwrap:
    """The statement goes, and with it an `if` that holds nothing else."""
    lines = (place for place in module.places if isinstance(place, cst.SimpleStatementLine | cst.SimpleStatementSuite))
    unit = next(line for line in lines if statement in line.body)
    owner = module.places[unit].owner
    if only_statement(unit) is statement and isinstance(owner, cst.If) and owner in module.places:
        if owner.orelse is None and is_pure(owner.test) and len(units_of(owner.body)) == 1:
            return Unwrap(owner, None)
    return Remove(statement)
