"""A script whose data come out otherwise each time it is run: threads or processes of its own draw them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tfmigrate.verify.judge.lab import Lab
from tfmigrate.verify.judge.pairs import outcome
from tfmigrate.verify.judge.report import Pair
from tfmigrate.verify.run.world import Run

AGAIN = ", again"


def why_unsteady(lab: Lab, apart: Sequence[Pair], start: Run, band: float) -> str:
    """Why batches with other content say nothing against the new script: a second run of it has others again. Empty
    where it has the same, or where something else differs."""
    if not apart or any(pair.kind != "data" for pair in apart):
        return ""
    first = lab.runs[apart[0].new]
    (second,) = lab.run(replace(first.world, role=first.world.role + AGAIN), start=start)
    _, divergence = outcome(first, second, band)
    if divergence is None or divergence.kind != "data":
        return ""
    return (
        f"two runs of the new script got different batches ({divergence.cause}), so its data depends on something "
        "that differs from run to run, such as which of two processes is faster, and cannot be compared: try one "
        "process or thread, or seed each of them"
    )
