"""The lines of the contract, and what they are made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfmigrate.verify.judge.align import EpochPair, StepPair
from tfmigrate.verify.judge.differences import (
    KnownDifference,
)
from tfmigrate.verify.run.trace import Trace


@dataclass(frozen=True)
class Row:
    """One line of the contract. `known` names a true difference of the two systems that is no fault of the migration;
    a row that is not the same and not known makes the runs different."""

    what: str
    old: Any
    new: Any
    same: bool
    known: str | None = None

    @property
    def broken(self) -> bool:
        return not self.same and self.known is None


@dataclass(frozen=True)
class Facts:
    """What the rows are made from."""

    old: Trace
    new: Trace
    steps: tuple[StepPair, ...]
    epochs: tuple[EpochPair, ...]
    band: float
    """Tolerance on relative loss differences."""
    known: tuple[KnownDifference, ...]


def brief(values: list[int]) -> int | str:
    if len(set(values)) == 1:
        return values[0]
    return ", ".join(map(str, values[:6])) + (", ..." if len(values) > 6 else "")


def first_known(facts: Facts, *names: str) -> str | None:
    present = {difference.name for difference in facts.known}
    return next((name for name in names if name in present), None)


def figure(value: float, digits: int = 3) -> float:
    return float(f"{value:.{digits}g}")
