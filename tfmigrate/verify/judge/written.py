"""Compares training as it is written: dropout, augmentation and shuffling on, over several seeds, by statistics.

An aligned run takes out what is random, and so cannot see what is wrong with it. Here nothing is taken out: the old
script runs under every seed; what two of its own runs differ by fixes the margin; only then does the new script run
under the same seeds, and the paired differences of its losses are judged (see `equivalence`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from tfmigrate.verify.judge import cause, contract
from tfmigrate.verify.judge.compare import Comparison
from tfmigrate.verify.judge.differences import known_of_validation
from tfmigrate.verify.judge.equivalence import ALPHA, FEWEST, Look, Outcome, look, margins, overall, plan
from tfmigrate.verify.judge.lab import (
    Lab,
    Publish,
    Tell,
    cannot_start,
    could_not_run,
    genuine_world,
    replicas_of,
    why_alone,
    why_none,
)
from tfmigrate.verify.judge.plan import VerifyOptions
from tfmigrate.verify.judge.proceedings import hold
from tfmigrate.verify.judge.report import ALONE, Report, Verdict, Written
from tfmigrate.verify.run.side_by_side import run_all
from tfmigrate.verify.run.trace import Trace
from tfmigrate.verify.run.world import Execute, Run, World

PAIRS = 20
"""With so many a right migration is called EQUIVALENT in 92 of 100 experiments (simulated: normal losses, three
quantities correlated by 0.8), and half of those after 13."""

FIRST_SEED = 1

SPREADLESS = 1e-6
"""Losses that differ less, relative to themselves, from seed to seed do not depend on the seed but for rounding."""

LAST = "training loss, last quarter of the steps"
WHOLE = "training loss, all steps"
VALIDATION = "validation loss, last"


def verify_as_written(
    options: VerifyOptions,
    pairs: int = PAIRS,
    tell: Tell = lambda line: None,
    execute: Execute = run_all,
    publish: Publish = lambda report: None,
) -> Report:
    """Runs both scripts under `pairs` seeds at most, and compares their losses.

    What goes wrong with a run is in the report. Raises UserError for options that name what is not there.
    """
    return hold(options, partial(_judge, pairs=pairs), tell, execute, publish)


def quantities(trace: Trace) -> dict[str, float]:
    """What is compared of one run, for each model that it trained: means of its steps' losses, and how it validates."""
    model_of = {fit.index: fit.model for fit in trace.fits}
    means: dict[str, float] = {}
    for model in trace.models:
        suffix = "" if len(trace.models) == 1 else f", model {model.index}"
        losses = [step.loss for step in trace.steps if model_of.get(step.fit) == model.index]
        if losses:
            late = losses[-max(1, len(losses) // 4) :]
            means[LAST + suffix] = math.fsum(late) / len(late)
            means[WHOLE + suffix] = math.fsum(losses) / len(losses)
        logs = [epoch.logs for epoch in trace.epochs if model_of.get(epoch.fit) == model.index]
        if logs and "val_loss" in logs[-1]:
            means[VALIDATION + suffix] = logs[-1]["val_loss"]
    return means


def _judge(lab: Lab, pairs: int) -> Report:
    if why := cannot_start(lab):
        return _report(lab, "COULD NOT RUN", why)
    looks = plan(pairs)
    if not looks:
        return _report(lab, "INCONCLUSIVE", f"{pairs} pairs of runs are too few; at least {FEWEST} are needed")
    seeds = range(FIRST_SEED, FIRST_SEED + pairs)
    first = _first_run(lab, seeds[0])
    if first is None:
        return _report(lab, "COULD NOT RUN", why_none(lab))
    if why := _nothing_to_compare(first):
        return _report(lab, "INCONCLUSIVE", why)
    olds = [first, *_under(lab, first.world, seeds[1:])]
    lost = next((run for run in olds if not run.ok), None)
    if lost is not None:
        return _report(lab, "INCONCLUSIVE", f"under one of the seeds the old script could not be run. {lost.message}")
    old = _judged_quantities(lab, olds)
    if not all(math.isfinite(value) for values in old.values() for value in values):
        return _report(lab, "INCONCLUSIVE", "the old script's loss is not a number under some of the seeds")
    limits = margins(old)
    fixed = [name for name, values in old.items() if limits[name] <= SPREADLESS * max(map(abs, values))]
    if fixed:
        reason = (
            f"the old script's {fixed[0]} does not depend on the seed, so there is no measure of how much it may "
            "vary; compare step by step instead (verify without --as-written)"
        )
        return _report(lab, "INCONCLUSIVE", reason)
    return _compare(lab, olds, old, limits, looks)


def _nothing_to_compare(first: Run) -> str:
    """Why the losses of a run of the old script say nothing about the migration; empty where they do."""
    if first.trace.predictions:
        return "the old script trains nothing: compare its predictions (verify without --as-written)"
    return "the old script trained on one replica; pass its arguments (--args)" if replicas_of(first) < 2 else ""


def _judged_quantities(lab: Lab, olds: Sequence[Run]) -> dict[str, list[float]]:
    """What all runs of the old script have, by run; without validation losses where the two systems differ in them."""
    each = [quantities(run.trace) for run in olds]
    old = {name: [values[name] for values in each] for name in each[0] if all(name in values for values in each)}
    excuse = known_of_validation(olds[0].trace)
    if excuse is not None and any(name.startswith(VALIDATION) for name in old):
        old = {name: values for name, values in old.items() if not name.startswith(VALIDATION)}
        lab.remarks.append(f"validation losses are not judged: {excuse}, a known difference of the two systems")
    return old


def _first_run(lab: Lab, seed: int) -> Run | None:
    """The old script under the first seed: genuine where that works, else restored."""
    chosen = lab.plan
    worlds = [genuine_world(lab)] if chosen.genuine is not None else []
    worlds += [chosen.world("restored", keras) for keras in chosen.modern]
    for world in worlds:
        (run,) = lab.run(_seeded(world, seed))
        if run.ok:
            return run
    return None


def _seeded(world: World, seed: int) -> World:
    kind = world.role.partition(", seed")[0]
    return replace(world, role=f"{kind}, seed {seed}", aligned=False, seed=seed)


def _under(lab: Lab, world: World, seeds: range) -> list[Run]:
    # Nobody reads their speed, so they share the cores, and a card; not a GPU for each replica.
    start = next(iter(lab.runs.values())).trace.start
    jobs = os.cpu_count() if start is not None and start.device_kind != "physical GPU" else 1
    return lab.run(*(_seeded(world, seed) for seed in seeds), jobs=jobs)


def _compare(
    lab: Lab, olds: list[Run], old: Mapping[str, list[float]], limits: Mapping[str, float], looks: tuple[Look, ...]
) -> Report:
    """The margins are fixed; the new script runs for the first time here."""
    world = lab.plan.world("migrated", next(iter(lab.plan.modern)))
    news: list[Run] = []
    for each in looks:
        seeds = range(FIRST_SEED + len(news), FIRST_SEED + each.pairs)
        news += _under(lab, world, seeds)
        if (stopped := could_not_run(lab)) is not None:
            return _report(lab, *stopped)
        died = next((run for run in news if not run.ok), None)
        if died is not None:
            why = f"under seed {died.world.seed} the migrated script crashed: {died.error}"
            return _report(lab, "DOES NOT RUN", why)
        measured = [quantities(run.trace) for run in news]
        if (lacking := _lacking(old, measured)) is not None:
            return _report(lab, *lacking)
        new = {name: tuple(values[name] for values in measured) for name in old}
        rows = contract.asked(olds[0].trace, news[0].trace)
        differences = {name: [b - a for a, b in zip(old[name], new[name])] for name in old}
        outcomes = look(differences, limits, each.alpha)
        written = Written(
            olds[0].world.role.partition(", seed")[0],
            world.role,
            tuple(range(FIRST_SEED, FIRST_SEED + each.pairs)),
            looks,
            outcomes,
            {name: tuple(values[: each.pairs]) for name, values in old.items()},
            new,
            rows,
        )
        lab.tell(f"{each.pairs} of {looks[-1].pairs} pairs: {overall(outcomes)}")
        if overall(outcomes) != "open":
            break
    return _report(lab, *_conclude(written, olds[0], news[0]), written)


def _lacking(old: Mapping[str, list[float]], measured: Sequence[Mapping[str, float]]) -> tuple[Verdict, str] | None:
    """The verdict where runs of the new script have not all that is compared; None where they do."""
    if any(set(old) - set(values) for values in measured):
        gone = ", ".join(sorted(set(old) - set(measured[0]))) or "some losses"
        return "DIFFERENT", f"the migrated script has no {gone}"
    nan = sum(not all(math.isfinite(values[name]) for name in old) for values in measured)
    if nan:
        words = f"in {nan} of {len(measured)} runs the new loss is not a number"
        return ("DIFFERENT" if nan == len(measured) else "INCONCLUSIVE"), words
    return None


def _conclude(written: Written, old: Run, new: Run) -> tuple[Verdict, str]:
    """What the last look says, and what was asked for has to say about it."""
    comparison = Comparison((), (), written.contract, (), (), 0.0)
    named = cause.find(old.trace, new.trace, comparison) if comparison.broken else None
    answer, outcomes, pairs = overall(written.outcomes), written.outcomes, len(written.seeds)
    if answer == "different":
        worst = min(outcomes, key=lambda outcome: outcome.p_different)
        reason = (
            f"over {pairs} pairs of runs the {worst.name} moves by {worst.mean:+.3g}, more than the margin "
            f"{worst.margin:.3g} that another seed moves the old script by (p = {worst.p_different:.2g})"
        )
        return "DIFFERENT", reason + (f"; {named.cause}" if named else "")
    if named is not None:
        return "DIFFERENT", f"{named.cause}; the losses alone are {answer} over {pairs} pairs of runs"
    worst = max(outcomes, key=lambda outcome: outcome.p_equivalent)
    where = (
        f"over {pairs} pairs of runs the {worst.name} moves by {worst.mean:+.3g} "
        f"({worst.interval[0]:+.3g} to {worst.interval[1]:+.3g}; margin {worst.margin:.3g}{_share(written, worst)}, "
        f"what another seed moves the old script by; p = {worst.p_equivalent:.2g})"
    )
    if answer == "equivalent":
        names = "the only quantity" if len(outcomes) == 1 else f"the least certain of {len(outcomes)} quantities"
        return "EQUIVALENT", f"{where}; {names}, at an error rate of {ALPHA:g} over all looks"
    return "INCONCLUSIVE", f"{where}: neither within the margin nor beyond it; more pairs (--pairs) would decide"


def _share(written: Written, outcome: Outcome) -> str:
    """How wide a margin is, by the quantity itself: a change within it cannot be seen this way."""
    old = written.old_losses[outcome.name]
    level = abs(math.fsum(old) / len(old)) if old else 0.0
    return f", which is {outcome.margin / level:.1%} of it" if level else ""


def _report(lab: Lab, verdict: Verdict, reason: str, written: Written | None = None) -> Report:
    alone = why_alone(lab) if written else ""
    if alone and verdict == "EQUIVALENT":
        reason = f"{ALONE}: {alone}; {reason}"
    return Report(
        verdict,
        reason,
        lab.plan.title,
        lab.summaries(),
        notes=lab.notes(),
        written=written,
        depth=lab.plan.options.depth,
        covered=lab.covered(),
        alone=alone,
        provenance=lab.provenance,
    )
