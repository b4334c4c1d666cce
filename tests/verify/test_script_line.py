"""The line of the new script that a cause leads to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tfmigrate.verify.judge import script_line
from tfmigrate.verify.judge.causes.evidence import Divergence, Kind
from tfmigrate.verify.run.trace import End, Trace
from tfmigrate.verify.run.world import Run, World

from .laboratory import MODERN, Laboratory, usual
from .simulated import Training, migrated, train

SCRIPT = "import keras\nmodel = build()\n  model.compile('adam')\nmodel.fit(x)\nmodel.fit(y)\n"


def finished(folder: Path, **changes: object) -> Run:
    (folder / "train.py").write_text(SCRIPT)
    trace = train(folder / "run", Training())
    trace = replace(
        trace,
        compiles=(replace(trace.compiles[0], at="train.py:3"),),
        fits=(replace(trace.fits[0], at="train.py:4"), replace(trace.fits[0], index=1, at="train.py:5")),
    )
    world = World("migrated", "migrated", MODERN, folder, "train.py")
    return Run(world, replace(trace, **changes), "trained", 0, folder / "out", folder / "err", 1.0, "")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "call", "number", "text"),
    [
        ("learning rate", None, 3, "model.compile('adam')"),
        ("loss", None, 3, "model.compile('adam')"),
        ("data", None, 4, "model.fit(x)"),
        ("unknown", None, 4, "model.fit(x)"),
        ("shuffle", 1, 5, "model.fit(y)"),
        ("loss weights", 1, 5, "model.fit(y)"),  # no compile was seen for that call
    ],
)
def test_each_kind_of_cause_has_its_line(tmp_path: Path, kind: Kind, call: int | None, number: int, text: str) -> None:
    line = script_line.of(Divergence(kind, "why", 0, 0, call), finished(tmp_path))
    assert line == script_line.Line("train.py", number, text)


def test_a_crash_is_where_the_script_died(tmp_path: Path) -> None:
    end = End(False, "ValueError: no such name\nsee below (train.py:2)", 1.0, 0.0, None, None)
    line = script_line.of(Divergence("crash", "why"), finished(tmp_path, end=end))
    assert line == script_line.Line("train.py", 2, "model = build()")


@pytest.mark.parametrize("at", ["gone.py:3", "train.py:99", None])
def test_what_cannot_be_read_has_no_line(tmp_path: Path, at: str | None) -> None:
    run = finished(tmp_path)
    fits = tuple(replace(fit, at=at) for fit in run.trace.fits)
    assert script_line.of(Divergence("data", "why"), replace(run, trace=replace(run.trace, fits=fits))) is None


def test_a_run_without_any_trace_has_no_line(tmp_path: Path) -> None:
    run = replace(finished(tmp_path), trace=Trace(tmp_path))
    for kind in ("crash", "data", "loss"):
        assert script_line.of(Divergence(kind, "why"), run) is None  # type: ignore[arg-type]


def test_every_pair_that_differs_names_its_line(lab: Laboratory) -> None:
    lab.behaviour = lambda world, limits: (
        replace(migrated(Training()), learning_rate=0.1, at=5) if world.kind == "migrated" else usual(world, limits)
    )
    report = lab.finds("DIFFERENT")
    assert {pair.line.place for pair in report.pairs if pair.line} == {"new.py:5"}
    line = report.to_json()["loss"]["first_divergence"]["line"]
    assert line == {"file": "new.py", "number": 5, "text": 'model.compile(optimizer="adam", loss="mse")'}
