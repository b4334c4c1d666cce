"""What became of one program: read from what `fix` and `verify` report, kept as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

Fix = Literal["migrated", "left", "refused", "untouched", "error"]
"""left: migrated, but something is named that stays to be done by hand. untouched: nothing was found to migrate."""
Fault = Literal["", "tfmigrate", "reported by fix", "today's Keras", "the program", "the stand-in", "not known"]


_OLD_SIDE = ("genuine", "restored")


@dataclass(frozen=True)
class Run:
    """One run of one script, as the report of `verify` has it."""

    role: str
    outcome: str
    """"ok", or what it died of."""
    steps: int
    seconds: float


@dataclass(frozen=True)
class Outcome:
    """What became of one program."""

    name: str
    fingerprint: str
    """Of all that decides it but the tool itself."""
    fix: Fix
    left: tuple[str, ...]
    """Findings that are left or refused in the program's own files, as "CODE path:line"."""
    fix_seconds: float
    verdict: str
    """Of `verify`; empty where it did not run."""
    reason: str
    runs: tuple[Run, ...]
    seconds: float
    """All of it."""

    def died(self, role: str) -> str | None:
        """What the run of this role died of: empty where it lived; None where there was none, or where `verify` ended
        it because the weights of the old side fit no model of it."""
        for run in self.runs:
            if run.role == role and "WeightsDiffer" not in run.outcome:
                return "" if run.outcome == "ok" else run.outcome
        return None

    @property
    def old_side_runs(self) -> bool:
        """Some run of the old script lived: only then does the program say anything about the migration."""
        return any(run.outcome == "ok" for run in self.runs if run.role.startswith(_OLD_SIDE))

    @property
    def old_side_ran(self) -> bool:
        """Some run of the old script came to an end, good or bad, before the time limit."""
        return any(run.role.startswith(_OLD_SIDE) for run in self.runs)

    @property
    def ran_out_of_time(self) -> bool:
        return self.verdict == "INCONCLUSIVE" and "the time limit" in self.reason

    @property
    def is_whole(self) -> bool:
        """Whether more than the first step was compared."""
        new = (run for run in self.runs if not run.role.startswith(_OLD_SIDE))
        return self.verdict in ("EQUIVALENT", "DIFFERENT") or any(run.steps > 1 for run in new)

    @property
    def fault(self) -> Fault:
        """Whose fault it is that it does not end well, as far as the runs tell."""
        if self.fix == "error":
            return "tfmigrate"
        if self.fix == "refused":
            return "not known"
        if self.verdict in ("EQUIVALENT", "SMOKE PASSED"):
            return ""
        if self.verdict == "COULD NOT RUN":
            return "the stand-in"
        if "today's Keras is the cause" in self.reason:
            return "today's Keras"
        if any(f"({finding.split()[0]})" in self.reason for finding in self.left):
            return "reported by fix"
        return "tfmigrate" if self.verdict in ("DIFFERENT", "DOES NOT RUN") else "not known"

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")


def read(path: Path) -> Outcome | None:
    """What was kept; None where nothing was, or something unreadable."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        runs = tuple(Run(**run) for run in values.pop("runs"))
        return Outcome(**{**values, "left": tuple(values["left"]), "runs": runs})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def kept(folder: Path, fingerprint: str, steps: Sequence[str]) -> Outcome | None:
    """What was kept of a program, as its entry is today, at the first of these depths that came to a verdict in time;
    where none did, at the first that it was looked at."""
    outcomes = [read(folder / f"{depth}.json") for depth in steps]
    known = [outcome for outcome in outcomes if outcome is not None and outcome.fingerprint == fingerprint]
    return next((outcome for outcome in known if not outcome.ran_out_of_time), known[0] if known else None)


def of_fix(document: dict[str, Any], root: Path, program: Sequence[str]) -> tuple[Fix, tuple[str, ...]]:
    """(what `fix --format json` says of the files of the program, findings left in them); paths relative to `root`."""
    status: Counter[str] = Counter()
    left = []
    for file in document["files"]:
        path = Path(file["path"])
        name = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()
        if name not in program:
            continue
        status[file["status"]] += 1
        left += [f"{one['code']} {name}:{one['line']}" for one in file["findings"] if one["left"]]
    for given, said in (("error", "error"), ("refused", "refused")):
        if status[given]:
            return said, tuple(left)  # type: ignore[return-value]
    if not status["migrated"]:
        return "untouched", tuple(left)
    return ("left" if left else "migrated"), tuple(left)


def of_verify(report: dict[str, Any]) -> tuple[str, str, tuple[Run, ...]]:
    """(verdict, reason, runs) of a report.json; deliberately wrong migrations are not counted among the runs."""
    runs = tuple(
        Run(run["role"], run["outcome"], run["steps"], round(run["seconds"], 1))
        for run in report["runs"]
        if not run["role"].startswith("control")
    )
    return report["verdict"], report["reason"], runs
