"""Which statements must stand in the scope, in as few `with` blocks as read well.

What must: construction of the model and of all its parts, the optimizer, metric objects, compile(). What need not:
fit, evaluate, predict, save, load_weights (measured on TF 2.9 and 2.21, Keras 2 and 3; outside the scope,
construction fails on all of them, optimizer and compile on Keras 3).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan.edits import Move
from tfmigrate.understand.blocks import Unit, suites_of, units_of
from tfmigrate.understand.import_statements import imports_at
from tfmigrate.understand.module import Module

_BRIDGE = 3
"""Lines between two scoped statements that are taken in rather than splitting the block."""


@dataclass(frozen=True)
class Run:
    """Neighbouring units of one block that share a `with`, once they are moved."""

    units: tuple[Unit, ...]


class Cover:
    """Finds the runs for a set of units inside one function or module."""

    def __init__(
        self,
        module: Module,
        needed: frozenset[cst.CSTNode],
        training: frozenset[cst.CSTNode],
        gone: Iterable[cst.CSTNode],
        transparent: Iterable[cst.CSTNode],
        move: Move | None = None,
        without: Iterable[cst.BaseSuite] = (),
    ) -> None:
        """`move`: of units that shall stand elsewhere in their block by then. `without`: blocks where the strategy is
        the default one, whose scope changes nothing."""
        self._module = module
        self._needed = needed
        self._training = training
        self._gone = frozenset(gone)
        self._transparent = frozenset(transparent)
        self._move = move
        self._without = frozenset(without)

    def runs(self, block: cst.Module | cst.BaseSuite) -> Iterator[Run]:
        """The runs of a block and of the blocks inside it, in order."""
        current: list[Unit] = []
        gap: list[Unit] = []
        for unit in units_of(block) if self._move is None else self._move.applied(units_of(block)):
            if unit in self._gone and unit not in self._needed:
                gap.append(unit)
            elif self._whole(unit) or (current and self._bridgeable(gap) and self._guarded(unit)):
                if current and self._bridgeable(gap):
                    current.extend(gap)
                elif current:
                    yield Run(tuple(current))
                    current = []
                current.append(unit)
                gap = []
            elif self._concerned(unit):
                if current:
                    yield Run(tuple(current))
                current, gap = [], []
                for suite in suites_of(unit):
                    if suite not in self._without:
                        yield from self.runs(suite)
            else:
                gap.append(unit)
        if current:
            yield Run(tuple(current))

    def _concerned(self, unit: Unit) -> bool:
        return not isinstance(unit, cst.FunctionDef | cst.ClassDef) and any(
            inner in self._needed for inner in self._module.inside(unit)
        )

    def _whole(self, unit: Unit) -> bool:
        """Whether a unit goes into the scope as it is."""
        if unit in self._gone:
            return False
        if unit in self._needed:
            return True
        if not self._concerned(unit) or any(inner in self._training for inner in self._module.inside(unit)):
            return False
        if unit in self._transparent:
            return True
        if isinstance(unit, cst.If | cst.Try):
            arms = [suite for suite in suites_of(unit) if self._holds_needed(suite)]
            return len(arms) > 1
        if isinstance(unit, cst.For | cst.While):
            lines = [inner for inner in self._module.inside(unit) if not list(suites_of(inner))]
            return 2 * sum(line in self._needed for line in lines) >= len(lines)
        return False

    def _guarded(self, unit: Unit) -> bool:
        """Whether a unit is an `if` that holds what must stand in the scope, and next to nothing else."""
        if not isinstance(unit, cst.If) or not self._concerned(unit):
            return False
        inside = (inner for inner in self._module.inside(unit) if not isinstance(inner, cst.If))
        return self._bridgeable([inner for inner in inside if inner not in self._needed])

    def _holds_needed(self, suite: cst.BaseSuite) -> bool:
        return any(unit in self._needed or self._concerned(unit) for unit in units_of(suite))

    def _bridgeable(self, gap: Sequence[Unit]) -> bool:
        standing = list(self._standing(gap))
        return len(standing) <= _BRIDGE and all(
            isinstance(unit, cst.SimpleStatementLine) and unit not in self._training and not imports_at(unit)
            for unit in standing
        )

    def _standing(self, units: Iterable[Unit]) -> Iterator[Unit]:
        """What is left of some units, with the content of those that give it their place."""
        for unit in units:
            if unit in self._transparent and isinstance(unit, cst.With | cst.If | cst.Try):
                yield from self._standing(units_of(unit.body))
            elif unit not in self._gone:
                yield unit


def first_common_unit(module: Module, runs: Sequence[Run]) -> Unit:
    """The unit before which a variable must be bound to be seen by every run: in their innermost common block."""
    chains = []
    for run in runs:
        chain: list[Unit] = [run.units[0]]
        chain.extend(a for a in module.ancestors(run.units[0]))  # type: ignore[misc]
        chains.append(chain)
    blocks = [[module.places[unit].block for unit in chain] for chain in chains]
    for depth, block in enumerate(blocks[0]):
        if all(block in other for other in blocks[1:]):
            return chains[0][depth]
    raise AssertionError("all runs of a function lie in its body")


def loops_round(module: Module, unit: Unit, body: cst.Module | cst.BaseSuite) -> Iterator[cst.For | cst.While]:
    """The loops of `body` that a unit of it stands in, innermost first."""
    for outer in (unit, *module.ancestors(unit)):
        if outer is not unit and isinstance(outer, cst.For | cst.While):
            yield outer
        if module.places[outer].block is body:
            return
