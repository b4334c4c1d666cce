"""The curves as TensorBoard event files: `tensorboard --logdir DIR/events`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter  # without TensorFlow, unlike the writers above it

from tfmigrate.verify.judge.report import Report

FILE = "events.out.tfevents.0.tfmigrate"
Point = tuple[int, float]


def write(report: Report, folder: Path) -> None:
    """Writes a run for each world, with the loss of every step and the validation loss of every epoch, and one for each
    pair of worlds, with their relative difference; of scripts that train nothing, only that of each call that predicts.
    Steps, epochs and calls count from 0. Files of an earlier report go."""
    for leftover in folder.glob(f"*/{FILE}"):
        leftover.unlink()
    written: set[str] = set()
    for pair in report.pairs:
        if pair.comparison is None:
            continue
        steps, epochs = pair.comparison.steps, pair.comparison.epochs
        for role, losses, validation in (
            (pair.old, [p.old for p in steps], [e.old_validation for e in epochs]),
            (pair.new, [p.new for p in steps], [e.new_validation for e in epochs]),
        ):
            if role not in written and steps:
                written.add(role)
                known = [(i, value) for i, value in enumerate(validation) if value is not None]
                _run(folder, role, {"loss": enumerate(losses), "validation loss": known})
        name = f"relative {report.compared} difference"
        _run(folder, pair.title, {name: enumerate(p.difference for p in pair.comparison.common)})


def _run(folder: Path, name: str, curves: dict[str, Iterable[Point]]) -> None:
    place = folder / re.sub(r"[^\w .-]+", "-", name)
    place.mkdir(parents=True, exist_ok=True)
    with (place / FILE).open("wb") as file:
        writer = RecordWriter(file)
        writer.write(Event(file_version="brain.Event:2").SerializeToString())
        for tag, points in curves.items():
            for step, value in points:
                if math.isfinite(value):
                    summary = Summary(value=[Summary.Value(tag=tag, simple_value=value)])
                    # Two runs have no time in common, so that the axis "relative" counts steps too.
                    writer.write(Event(wall_time=float(step), step=step, summary=summary).SerializeToString())
