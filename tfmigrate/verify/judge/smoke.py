"""Whether old and new reach the end of the first step, with the same loss; nothing else is judged."""

from __future__ import annotations

import math
from dataclasses import replace

from tfmigrate.verify.judge import reasons, todays_names
from tfmigrate.verify.judge.align import tolerance
from tfmigrate.verify.judge.compare import through_first_step
from tfmigrate.verify.judge.known import DRIFTING, but_for_data, but_for_drift, has_remainder, of_data
from tfmigrate.verify.judge.lab import Lab, builds_otherwise, could_not_run, restored_run
from tfmigrate.verify.judge.pairs import paired
from tfmigrate.verify.judge.plan import all_migrated, all_restored
from tfmigrate.verify.judge.proceedings import concluded
from tfmigrate.verify.judge.report import Pair, Report
from tfmigrate.verify.judge.whole_batches import but_for_whole_batches
from tfmigrate.verify.run.world import Run


def judge(lab: Lab, reference: Run) -> Report | None:
    """The report; None where the genuine run was set aside, so that all begins anew with a restored one."""
    lab.run(*(world for world in all_migrated(lab.plan) if world.role not in lab.runs), start=reference)
    crashed = any(run.world.kind == "migrated" and run.outcome == "crashed" for run in lab.runs.values())
    if crashed:  # The old script on the same Keras shows whose fault it is.
        lab.run(*(world for world in all_restored(lab.plan) if world.role not in lab.runs), start=reference)
        if why := builds_otherwise(lab, reference):
            lab.set_genuine_aside(why)
            return None
    stopped = could_not_run(lab)
    if stopped is not None:
        return concluded(lab, *stopped)
    pairs = _first_steps(lab, reference)
    doubt = reasons.doubt(reference, None, math.inf)
    if doubt is None and has_remainder(reference.trace) and not crashed:
        doubt = (
            "both reach the end of step 1, but the first batch cannot be divided evenly among the replicas, so the "
            "two systems report different means of its loss; run verify without --smoke, which compares the other "
            "steps"
        )
    if doubt:
        return concluded(lab, "INCONCLUSIVE", doubt, pairs)
    apart = [pair for pair in pairs if pair.speaks_against]
    if apart:
        return concluded(lab, reasons.verdict_of(lab, apart), reasons.of_difference(lab, apart, pairs), pairs)
    return concluded(lab, "SMOKE PASSED", _agreement(pairs), pairs)


def _first_steps(lab: Lab, reference: Run) -> tuple[Pair, ...]:
    """The new script against the old one, each run through its first step."""
    band = tolerance(0.0, len(reference.trace.steps))
    old = replace(reference, trace=through_first_step(reference.trace))
    news = [lab.runs[world.role] for world in all_migrated(lab.plan)]
    pairs = tuple(paired(old, replace(new, trace=through_first_step(new.trace)), band, decides=True) for new in news)
    if old.world.kind == "genuine" and any(of_data(pair) or pair.kind in DRIFTING for pair in pairs):
        pairs = _first_steps_of_today(lab, old, pairs, band)
    return but_for_whole_batches(lab, reference, old, pairs, band, through_first_step)


def _first_steps_of_today(lab: Lab, genuine: Run, pairs: tuple[Pair, ...], band: float) -> tuple[Pair, ...]:
    """The pairs, with the old script restored where old libraries may have made other data or round differently."""
    lab.run(*(world for world in all_restored(lab.plan) if world.role not in lab.runs), start=genuine)
    todays_names.run_again(lab, genuine)
    judged: list[Pair] = []
    for pair, keras in zip(pairs, lab.plan.modern, strict=True):
        restored = restored_run(lab, keras)
        if restored is None:
            judged.append(pair)
            continue
        today, new = (replace(run, trace=through_first_step(run.trace)) for run in (restored, lab.runs[pair.new]))
        same_version = paired(today, new, band, decides=False)
        pair = but_for_data(pair, same_version, genuine, today, new, band)
        if same_version.equivalent:
            pair = but_for_drift(pair, genuine, new)
        judged += [pair, same_version]
    return tuple(sorted(judged, key=lambda pair: not pair.decides))


def _agreement(pairs: tuple[Pair, ...]) -> str:
    comparison = next(pair.comparison for pair in pairs if pair.comparison and not pair.comparison.excused)
    size, what = comparison.max_relative_difference, "reach the end of step 1, with the same loss"
    if comparison.predictions:
        what = "predict the same"
    return (
        f"old and new {what} (largest relative difference {size:.2g}, tolerance {comparison.tolerance:.2g}); nothing "
        "else was compared: run verify without --smoke before you trust it"
    )
