"""What is left of the blocks of a model function, once its loss, optimizer and metrics are gone."""

from __future__ import annotations

import libcst as cst

from tfmigrate.plan.edits import Unwrap
from tfmigrate.plan.estimator.model_reader import ModelReader
from tfmigrate.understand.blocks import units_of


def unwrap(reader: ModelReader, unit: cst.If | cst.With | cst.For, suite: cst.BaseSuite | None) -> None:
    reader.unwrapped[unit] = suite
    reader.edit(Unwrap(unit, suite))


def is_emptied(reader: ModelReader, suite: cst.BaseSuite) -> bool:
    """Whether nothing of a block stays, and something of it went."""
    units = units_of(suite)
    only_passes = all(
        isinstance(unit, cst.SimpleStatementLine) and all(isinstance(small, cst.Pass) for small in unit.body)
        for unit in units
    )
    return not only_passes and all(nothing_stays(reader, unit) for unit in units)


def nothing_stays(reader: ModelReader, unit: cst.CSTNode) -> bool:
    """Whether nothing of a unit stays."""
    if isinstance(unit, cst.SimpleStatementLine | cst.SimpleStatementSuite):
        return all(small in reader.removed or isinstance(small, cst.Pass) for small in unit.body)
    if unit not in reader.unwrapped:
        return False
    suite = reader.unwrapped[unit]
    return suite is None or all(nothing_stays(reader, inner) for inner in units_of(suite))
