"""The line of the new script that a divergence leads to."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tfmigrate.files import regular
from tfmigrate.verify.judge.causes.evidence import OF_THE_MODEL, Divergence, Kind
from tfmigrate.verify.run.trace import Trace
from tfmigrate.verify.run.world import Run

COMPILED: frozenset[Kind] = OF_THE_MODEL | {"constraint", "batch norm", "gradient", "moving averages"}
"""Shown where the model is compiled; the others where it is trained, or where it predicts."""
_DIED_AT = re.compile(r" \(([^()\n]+:\d+)\)$")


@dataclass(frozen=True)
class Line:
    file: str
    """Relative to the program's folder."""
    number: int
    """From 1."""
    text: str
    """Without its indentation."""

    @property
    def place(self) -> str:
        return f"{self.file}:{self.number}"


def of(divergence: Divergence, new: Run) -> Line | None:
    """None where the run recorded no such place, or its file cannot be read any more."""
    place = _place(divergence, new.trace)
    if place is None:
        return None
    file, _, number = place.rpartition(":")
    try:
        source = new.world.overlay.get(file) or regular.read(new.world.source / file).decode("utf-8", "replace")
        return Line(file, int(number), source.splitlines()[int(number) - 1].strip())
    except (OSError, IndexError):
        return None


def _place(divergence: Divergence, trace: Trace) -> str | None:
    died = _DIED_AT.search(trace.error or "")
    if died and divergence.kind in ("crash", "scope"):
        return died[1]
    compiled = [compile_.at for compile_ in trace.compiles if compile_.fit == (divergence.call or 0)]
    trained = [fit.at for fit in trace.fits if fit.index == (divergence.call or 0)]
    predicted = [prediction.at for prediction in trace.predictions[divergence.step or 0 :]]
    places = [*compiled, *trained] if divergence.kind in COMPILED else trained
    return next((at for at in [*places, *predicted] if at), None)
