"""What a verification found, as one value: the verdict, the evidence for it, and report.json."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from tfmigrate.verify.judge.align import PredictionPair, StepPair
from tfmigrate.verify.judge.causes.evidence import Divergence, Kind
from tfmigrate.verify.judge.compare import Comparison
from tfmigrate.verify.judge.contract_rows import Row
from tfmigrate.verify.judge.depth import Depth
from tfmigrate.verify.judge.differences import KnownDifference
from tfmigrate.verify.judge.equivalence import Look, Outcome
from tfmigrate.verify.judge.provenance import Provenance
from tfmigrate.verify.judge.script_line import Line
from tfmigrate.verify.judge.summaries import RunSummary
from tfmigrate.verify.judge.touched import LeftOut

Verdict = Literal["EQUIVALENT", "SMOKE PASSED", "DIFFERENT", "DOES NOT RUN", "INCONCLUSIVE", "COULD NOT RUN"]
"""SMOKE PASSED: the first step agrees, and nothing more was looked at. DOES NOT RUN: the new script crashed."""

EXIT_CODES: dict[Verdict, int] = {
    "EQUIVALENT": 0,
    "SMOKE PASSED": 0,
    "DIFFERENT": 1,
    "DOES NOT RUN": 1,
    "COULD NOT RUN": 2,
    "INCONCLUSIVE": 3,
}
ALONE = "against today's TensorFlow alone"
CUT_SHORT: Mapping[str, str] = {
    "under way": "not finished",
    "out of time": "cut short by the time limit",
    "interrupted": "cut short by Ctrl-C or a signal",
}
"""By the state of a report."""
INTERRUPTED = 130
"""Exit code after Ctrl-C or a signal, as shells have it."""


CONTROL = "control: "
"""How the roles of deliberately wrong migrations begin."""


@dataclass(frozen=True)
class Pair:
    """One old run against one new run."""

    old: str
    new: str
    """Roles of the two runs."""
    comparison: Comparison | None
    """None when the new script crashed."""
    divergence: Divergence | None
    decides: bool
    """Counts for the verdict; the others attribute a difference (version drift or migration)."""
    line: Line | None = None
    """Of the new script, where the divergence leads; None where no run recorded one."""

    @property
    def title(self) -> str:
        return f"{self.old} vs {self.new}"

    @property
    def equivalent(self) -> bool:
        return self.comparison is not None and self.comparison.equivalent and self.divergence is None

    @property
    def speaks_against(self) -> bool:
        """Whether the new script is not equivalent for it."""
        return self.decides and not self.equivalent

    @property
    def kind(self) -> str:
        """Of its divergence; empty where there is none."""
        return self.divergence.kind if self.divergence else ""

    @property
    def remark(self) -> str:
        """Why the two are not the same, and where in the new script; or despite which known difference they are."""
        if self.divergence is not None:
            place = self.line.place if self.line else ""
            return self.divergence.cause + (f" ({place})" if place not in self.divergence.cause else "")
        excuse = self.comparison.excused if self.comparison else ""
        return f"but for a known difference, {excuse}" if excuse else ""

    def explained_by(self, known: KnownDifference, rows: Collection[Row], excused: str = "") -> Pair:
        """The pair, where a known difference was shown to explain these rows of its contract and why the two part."""
        assert self.comparison is not None
        return replace(self, comparison=self.comparison.explained_by(known, rows, excused), divergence=None)

    def to_json(self) -> dict[str, Any]:
        return {
            "old": self.old,
            "new": self.new,
            "decides": self.decides,
            "equivalent": self.equivalent,
            "max_relative_difference": _number(_size(self)) if self.comparison else None,
            "cause": self.divergence.cause if self.divergence else None,
            "line": _line(self.line if self.divergence else None),
        }


@dataclass(frozen=True)
class ControlResult:
    """What became of one deliberately wrong migration."""

    mutation: str
    max_relative_difference: float | None
    """Of the training loss, or of the predictions; None when the mistake made the script die, do neither, or
    predict arrays of other shapes."""
    detected: bool
    found: str
    """The cause in words."""
    kind: Kind | None = None
    """The cause in a word; None when it was not detected."""
    steps: tuple[StepPair, ...] | tuple[PredictionPair, ...] = ()
    """The old run against this one, for the picture: steps, or calls that predict."""

    def to_json(self) -> dict[str, Any]:
        return {
            "mutation": self.mutation,
            "max_relative_difference": _number(self.max_relative_difference),
            "detected": self.detected,
            "found": self.found,
        }


@dataclass(frozen=True)
class Written:
    """Paired runs of both scripts as they are written; losses by the name of the quantity, in the order of `seeds`."""

    old: str
    new: str
    """Roles."""
    seeds: tuple[int, ...]
    looks: tuple[Look, ...]
    """As planned before the first; the last may not have been needed."""
    outcomes: tuple[Outcome, ...]
    """At the look that ended it."""
    old_losses: Mapping[str, tuple[float, ...]]
    new_losses: Mapping[str, tuple[float, ...]]
    contract: tuple[Row, ...]
    """What both ask for, read from the first pair."""

    def to_json(self) -> dict[str, Any]:
        return {
            "old": self.old,
            "new": self.new,
            "pairs": len(self.seeds),
            "planned_pairs": self.looks[-1].pairs,
            "looks": [asdict(look) for look in self.looks],
            "quantities": [
                {
                    "name": outcome.name,
                    "margin": outcome.margin,
                    "mean_difference": outcome.mean,
                    "interval": list(outcome.interval),
                    "p_equivalent": outcome.p_equivalent,
                    "p_different": outcome.p_different,
                    "answer": outcome.answer,
                    "old": list(self.old_losses[outcome.name]),
                    "new": list(self.new_losses[outcome.name]),
                }
                for outcome in self.outcomes
            ],
        }


@dataclass(frozen=True)
class Report:
    """The outcome of `verdict.verify`."""

    verdict: Verdict
    reason: str
    title: str
    """The old script and the new one, as given."""
    runs: tuple[RunSummary, ...] = ()
    pairs: tuple[Pair, ...] = ()
    controls: tuple[ControlResult, ...] = ()
    noise: float | None = None
    """Largest relative loss difference between two runs of the old script with different thread counts; None when it
    was not measured."""
    notes: tuple[str, ...] = ()
    adjustments: tuple[str, ...] = ()
    """What the runs changed in both scripts so that they could be compared step by step."""
    written: Written | None = None
    """Of a comparison as written; then there are no pairs and no controls."""
    depth: Depth = "thorough"
    covered: str = ""
    """How much of the training the runs did: "the first 30 steps of 70 epochs x 500 steps"; empty before any run."""
    left_out: tuple[LeftOut, ...] = ()
    """Controls that were not run, and why."""
    state: Literal["complete", "under way", "out of time", "interrupted"] = "complete"
    """A report is written after every run; only a complete one has a verdict of its own."""
    alone: str = ""
    """Why the old script ran in no TensorFlow of its time, so that the verdict rests on today's alone: "the old one
    lacks jinja2"; empty where it did, and where nothing was compared."""
    provenance: Provenance | None = None
    """None in a report that was put together by hand."""

    @property
    def exit_code(self) -> int:
        return INTERRUPTED if self.state == "interrupted" else EXIT_CODES[self.verdict]

    @property
    def headline(self) -> str:
        """The verdict with what nobody may overlook beside it: "EQUIVALENT (against today's TensorFlow alone)"."""
        beside = [CUT_SHORT[self.state]] if self.state in CUT_SHORT else []
        beside += [ALONE] if self.alone else []
        beside += [f"but for {name}" for name in self.excuses] if self.exit_code == 0 else []
        return f"{self.verdict} ({', '.join(beside)})" if beside else self.verdict

    @property
    def excuses(self) -> tuple[str, ...]:
        """Names of the known differences without which deciding losses would lie too far apart."""
        named = (pair.comparison.excused for pair in self.pairs if pair.decides and pair.comparison)
        return tuple(dict.fromkeys(name for name in named if name))

    @property
    def possible_controls(self) -> int:
        """Deliberately wrong migrations that could be made in this program."""
        return len(self.controls) + sum(control.possible for control in self.left_out)

    @property
    def shown(self) -> Pair | None:
        """The pair that explains the verdict: the first deciding one that differs, else the one furthest apart."""
        deciding = [pair for pair in self.pairs if pair.decides] or list(self.pairs)
        apart = [pair for pair in deciding if not pair.equivalent]
        compared = [pair for pair in deciding if pair.comparison is not None]
        if apart:
            return apart[0]
        return max(compared, key=_size, default=None)

    @property
    def comparison(self) -> Comparison | None:
        """Of the pair that is shown."""
        return self.shown.comparison if self.shown else None

    @property
    def tolerance(self) -> float | None:
        return self.comparison.tolerance if self.comparison else None

    @property
    def line(self) -> Line | None:
        """Of the new script, where the pair that is shown parts."""
        return self.shown.line if self.shown and self.shown.divergence else None

    @property
    def scripts(self) -> list[RunSummary]:
        """The runs of both scripts, without wrong ones; of those that differ in their seed alone the first."""
        runs = [run for run in self.runs if not run.role.startswith(CONTROL)]
        return [run for run in runs if run.role.endswith("seed 1")] if self.written else runs

    @property
    def predicts(self) -> bool:
        """The scripts train nothing, and what they predict was compared."""
        return any(pair.comparison and pair.comparison.predictions for pair in self.pairs)

    @property
    def compared(self) -> str:
        """What was held against one another, for headings."""
        return "prediction" if self.predicts else "loss"

    @property
    def max_relative_difference(self) -> float | None:
        """Over every deciding pair; None when no such pair could be compared, infinite when a loss is not a number."""
        sizes = [_size(pair) for pair in self.pairs if pair.decides and pair.comparison is not None]
        return max(sizes, default=None)

    @property
    def known(self) -> tuple[tuple[str, str, float], ...]:
        """(name, what, size) of each known difference, the largest size over the pairs that decide."""
        differences: dict[str, tuple[str, str, float]] = {}
        for pair in self.pairs:
            for difference in pair.comparison.known if pair.decides and pair.comparison else ():
                if difference.name not in differences or difference.size > differences[difference.name][2]:
                    differences[difference.name] = (difference.name, difference.what, difference.size)
        return tuple(differences.values())

    @property
    def contract(self) -> tuple[Row, ...]:
        """Of the pair that is shown, or of the comparison as written."""
        if self.written is not None:
            return self.written.contract
        return self.comparison.contract if self.comparison else ()

    def to_json(self) -> dict[str, Any]:
        """report.json: the keys of the design, and beside them `predictions`, `pairs`, `known_differences`,
        `as_written`, `adjustments` and `notes`; how far it went is in `state`, `depth`, `covered` and
        `controls_not_run`. `headline` is the verdict with what stands beside it, `against_today_alone` why the old
        script ran in no TensorFlow of its time, or null; `provenance`: see Provenance; of each of the `runs` the
        `packages` are its versions of NumPy and of what the script imports.

        Epochs, steps and calls count from 0. A difference that is not a finite number is null. Of scripts that train
        nothing, the differences are those of their predictions, here as in `loss`.
        """
        return {
            "verdict": self.verdict,
            "headline": self.headline,
            "reason": self.reason,
            "against_today_alone": self.alone or None,
            "state": self.state,
            "depth": self.depth,
            "covered": self.covered or None,
            "runs": [asdict(run) for run in self.runs],
            "loss": self._loss_to_json(),
            "predictions": self._predictions_to_json(),
            "contract": [
                {"what": row.what, "old": _value(row.old), "new": _value(row.new), "same": row.same}
                for row in self.contract
            ],
            "controls": [control.to_json() for control in self.controls],
            "controls_possible": self.possible_controls,
            "controls_not_run": [asdict(control) for control in self.left_out],
            "pairs": [pair.to_json() for pair in self.pairs],
            "known_differences": [
                {"name": name, "what": what, "size": _number(size)} for name, what, size in self.known
            ],
            "noise": _number(self.noise),
            "as_written": self.written.to_json() if self.written else None,
            "adjustments": list(self.adjustments),
            "notes": list(self.notes),
            "provenance": self.provenance.to_json() if self.provenance else None,
        }

    def _loss_to_json(self) -> dict[str, Any]:
        divergence = self.shown.divergence if self.shown else None
        first = None
        if divergence is not None:
            place = {"epoch": divergence.epoch, "step": divergence.step}
            first = {**place, "cause": divergence.cause, "line": _line(self.line)}
        return {
            "max_relative_difference": _number(self.max_relative_difference),
            "tolerance": self.tolerance,
            "first_divergence": first,
        }

    def _predictions_to_json(self) -> dict[str, Any] | None:
        """None where nothing was predicted."""
        shown = self.shown
        calls = self.comparison.predictions if self.comparison else ()
        if shown is None or not calls:
            return None
        divergence = shown.divergence
        return {
            "calls": len(calls),
            "rows": sum(pair.old.samples or 0 for pair in calls),
            "max_relative_difference": _number(self.max_relative_difference),
            "first_divergence": {"call": divergence.step, "cause": divergence.cause} if divergence else None,
        }


def _size(pair: Pair) -> float:
    return pair.comparison.max_relative_difference if pair.comparison else math.inf


def _line(line: Line | None) -> dict[str, Any] | None:
    return asdict(line) if line else None


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _value(value: Any) -> Any:
    return _number(value) if isinstance(value, float) else value
