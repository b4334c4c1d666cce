"""What a session carries: its settings, and the statements that go with it."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

import libcst as cst

from tfmigrate.plan.keras.session_settings import Settings
from tfmigrate.understand.blocks import is_docstring
from tfmigrate.understand.module import Module


@dataclass
class Carried:
    """The settings that a session carries, and the statements that go with it."""

    settings: Settings = field(default_factory=Settings)
    removed: list[cst.BaseSmallStatement] = field(default_factory=list)
    whole: list[cst.FunctionDef | cst.If] = field(default_factory=list)
    """Functions that only make the session, and conditions of settings that hold in any case."""
    called: list[tuple[cst.SimpleStatementLine, cst.Call]] = field(default_factory=list)
    """The lines that call a function that made the session and does other things, and the calls."""
    apart: list[tuple[cst.SimpleStatementLine, Settings]] = field(default_factory=list)
    """Settings that depend on a condition, by the lines in whose place they stand."""
    choices: list[cst.If] = field(default_factory=list)
    """Conditions of such settings, which may choose between two that are the same now."""
    last: cst.SimpleStatementLine | None = None

    @property
    def end(self) -> cst.SimpleStatementLine:
        """The last line of those whose place the settings take."""
        assert self.last is not None
        return self.last

    def lines(self, module: Module) -> list[cst.SimpleStatementLine]:
        """The lines that go whole, in order."""
        lines = (unit for unit in module.places if isinstance(unit, cst.SimpleStatementLine))
        return [unit for unit in lines if all(small in self.removed for small in unit.body)]

    def units(self, module: Module) -> frozenset[cst.CSTNode]:
        """All units that go, whole."""
        return frozenset({*self.lines(module), *self.whole} - {unit for unit, _ in self.called})

    def beside(self, module: Module) -> list[cst.SimpleStatementLine]:
        """The lines that go whole from the block of the last, itself included, in order."""
        block = module.places[self.end].block
        return [line for line in self.lines(module) if module.places[line].block is block]


def is_gone(line: cst.CSTNode, gone: Container[cst.CSTNode]) -> bool:
    """Whether nothing of a line is left to do."""
    if not isinstance(line, cst.SimpleStatementLine):
        return line in gone
    return all(small in gone or isinstance(small, cst.Pass) or is_docstring(small) for small in line.body)
