"""Numbers as people read them, the same in every form of the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfmigrate.verify.judge.report import Report
    from tfmigrate.verify.judge.summaries import RunSummary

ROLES = {
    "genuine": "the old script on a TensorFlow of its time",
    "restored": "the old script on today's TensorFlow, with multi_gpu_model put back",
    "migrated": "the new script",
}
"""What the first word of a run's role means."""


def figure(value: Any) -> str:
    """A value for people: six digits, thousands separated, a dash for what is not known."""
    if value is None:
        return "\N{EN DASH}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def size(value: float | None) -> str:
    """A difference for people: three digits."""
    return figure(None) if value is None else f"{value:.3g}"


def devices(values: tuple[str, ...]) -> str:
    """`("logical CPU: /cpu:0", "logical CPU: /cpu:1")` as `2 x logical CPU`."""
    kinds = Counter(value.split(":")[0] for value in values)
    return ", ".join(f"{count} x {kind}" for kind, count in kinds.items()) or figure(None)


def memory(value: int | None) -> str:
    return figure(None) if value is None else f"{value / 2**20:,.0f} MiB"


def margin(difference: float | None, tolerance: float | None) -> str:
    """How many tolerances a difference is."""
    if difference is None or not tolerance:
        return figure(None)
    return f"{difference / tolerance:,.3g} x"


def not_run(report: Report) -> str:
    """Which controls were not run, and why, reason by reason; empty where all were."""
    why: dict[str, list[str]] = {}
    for control in report.left_out:
        why.setdefault(control.why, []).append(control.mutation)
    reasons = "; ".join(f"{', '.join(names)} ({reason})" for reason, names in why.items())
    return f"Controls not run: {reasons}" if reasons else ""


def roles(runs: Iterable[RunSummary]) -> str:
    """What the runs that there are stand for, in one sentence; empty where no role needs words."""
    present = {run.role.replace(",", " ").split()[0] for run in runs if run.role}
    return "; ".join(f"{role}: {words}" for role, words in ROLES.items() if role in present)
