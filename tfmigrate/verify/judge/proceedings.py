"""Holds a verification: a laboratory, a judge who works in it, and a report whatever comes between them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from tfmigrate.verify.judge import adjustments
from tfmigrate.verify.judge.align import tolerance
from tfmigrate.verify.judge.lab import Lab, Publish, Tell, why_alone
from tfmigrate.verify.judge.pairs import paired
from tfmigrate.verify.judge.plan import Plan, VerifyOptions
from tfmigrate.verify.judge.report import ControlResult, Pair, Report, Verdict
from tfmigrate.verify.judge.stopping import OutOfTime, cause_of
from tfmigrate.verify.judge.touched import LeftOut
from tfmigrate.verify.run.world import Execute


def hold(
    options: VerifyOptions, judge: Callable[[Lab], Report], tell: Tell, execute: Execute, publish: Publish
) -> Report:
    """What the judge finds; where Ctrl-C or the time limit comes before, what is known by then.

    `publish` is given the report after each run, in the thread that ran it. Raises UserError for options that name what
    is not there.
    """
    plan = Plan.of(options)
    with tempfile.TemporaryDirectory(prefix="tfmigrate-verify-") as folder:
        lab = Lab(plan, Path(folder), tell, execute, publish)
        try:
            return judge(lab)
        except (KeyboardInterrupt, OutOfTime) as stop:
            return _stopped(lab, stop)
        finally:
            lab.keep(options.keep)


def concluded(
    lab: Lab,
    verdict: Verdict,
    reason: str,
    pairs: tuple[Pair, ...] = (),
    results: tuple[ControlResult, ...] = (),
    noise: float | None = None,
    left_out: tuple[LeftOut, ...] = (),
) -> Report:
    """The report of a judge who has come to a verdict."""
    return Report(
        verdict,
        reason,
        lab.plan.title,
        lab.summaries(),
        pairs,
        results,
        noise,
        lab.notes(),
        adjustments.made(run.trace for run in lab.runs.values()),
        depth=lab.plan.options.depth,
        covered=lab.covered(),
        left_out=left_out,
        alone=why_alone(lab) if pairs else "",
        provenance=lab.provenance,
    )


def _stopped(lab: Lab, stop: BaseException) -> Report:
    pairs = _so_far(lab)
    so_far = [f"{pair.title}: {_words(pair)}" for pair in pairs]
    reason = f"stopped by {cause_of(stop)} after {len(lab.over)} runs had finished"
    reason += f"; so far {'; '.join(so_far)}" if so_far else ", before old and new could be compared"
    return lab.unfinished("out of time" if isinstance(stop, OutOfTime) else "interrupted", reason, pairs)


def _so_far(lab: Lab) -> tuple[Pair, ...]:
    """The new runs that are over against the first old one that is, where both compute in the same type; held to the
    floor of the tolerance."""
    aligned = [run for run in lab.over.values() if run.world.aligned and run.ok and not lab.is_aside(run)]
    old = next((run for kind in ("genuine", "restored") for run in aligned if run.world.kind == kind), None)
    if old is None:
        return ()
    band = tolerance(0.0, len(old.trace.steps))
    roles = {f"migrated on Keras {keras}" for keras in lab.plan.modern}
    return tuple(
        paired(old, run, band, decides=True)
        for run in lab.over.values()
        if run.world.role in roles and (run.ok or run.outcome == "crashed")
        if run.world.doubles == old.world.doubles
    )


def _words(pair: Pair) -> str:
    if pair.equivalent and pair.comparison is not None:
        return f"they agree (largest difference {pair.comparison.max_relative_difference:.2g})"
    return pair.divergence.cause if pair.divergence else "nothing to compare"
