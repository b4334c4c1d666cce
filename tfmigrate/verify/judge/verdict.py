"""Runs the old and the new script in every world there is, and says whether their training is the same, or, where they
train nothing, what they predict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tfmigrate.verify.judge import beside, crash, reasons, smoke, todays_names, trials
from tfmigrate.verify.judge.held import Held, held, measured_noise, settle_steps
from tfmigrate.verify.judge.known import has_remainder
from tfmigrate.verify.judge.lab import (
    Lab,
    Publish,
    Tell,
    builds_otherwise,
    cannot_start,
    could_not_run,
    reference_run,
    why_alone,
    why_none,
)
from tfmigrate.verify.judge.plan import VerifyOptions, again, all_migrated, all_restored, sharing
from tfmigrate.verify.judge.proceedings import concluded, hold
from tfmigrate.verify.judge.report import ALONE, Pair, Report
from tfmigrate.verify.judge.unsteady import why_unsteady
from tfmigrate.verify.run.side_by_side import run_all
from tfmigrate.verify.run.world import Execute, Run


def verify(
    options: VerifyOptions,
    tell: Tell = lambda line: None,
    execute: Execute = run_all,
    publish: Publish = lambda report: None,
) -> Report:
    """Runs both scripts and compares them; `tell` receives a line as each group of runs begins, `publish` the report
    after each run.

    What goes wrong with a run is in the report. Raises UserError for options that name what is not there.
    """
    return hold(options, _judge, tell, execute, publish)


def _judge(lab: Lab) -> Report:
    plan = lab.plan
    report = _judge_once(lab)
    lacking = [run for run in lab.over.values() if crash.lacks_determinism(run)]
    if not lacking or not plan.deterministic:
        return report
    lab.begin_anew(
        replace(plan, deterministic=False),
        f"on GPUs, an operation of the program has no deterministic form ({crash.shorten(lacking[0].message)}): all "
        "scripts were run once more without determinism, and the difference between two runs of the old script sets "
        "the tolerance",
    )
    return _judge_once(lab)


def _judge_once(lab: Lab) -> Report:
    options = lab.plan.options
    if why := cannot_start(lab):
        return concluded(lab, "COULD NOT RUN", why)
    reference = reference_run(lab)
    if reference is None:
        return concluded(lab, "COULD NOT RUN", why_none(lab))
    if options.require_genuine and reference.world.kind != "genuine":
        return concluded(lab, "INCONCLUSIVE", f"--require-genuine: {ALONE}: {why_alone(lab)}")
    if options.depth == "smoke":
        return smoke.judge(lab, reference) or _judge_once(lab)
    _run_the_others(lab, reference)
    settle_steps(lab, reference)
    reference, repeated = lab.runs[reference.world.role], lab.runs[again(reference.world).role]
    todays_names.run_again(lab, reference)
    if why := builds_otherwise(lab, reference):
        lab.set_genuine_aside(why)
        return _judge_once(lab)
    noise = measured_noise(lab, reference, repeated)
    stopped = could_not_run(lab)
    if stopped is not None:
        return concluded(lab, *stopped)
    return _concluded_from(lab, held(lab, lab.runs[reference.world.role], noise))


def _concluded_from(lab: Lab, compared: Held) -> Report:
    """The verdict on what was compared; the controls are run only where old and new agree."""
    pairs, shared_crashes = _but_for_shared_crashes(lab, compared.pairs)
    lost = beside.lost(lab)
    lab.remarks.extend(f"outside the training, this differs: {what}" for what in lost)
    apart = [pair for pair in pairs if pair.speaks_against]
    doubt = reasons.doubt(compared.reference, compared.noise, compared.band)
    if doubt and all(pair.kind in ("", "unknown") for pair in apart):
        return concluded(lab, "INCONCLUSIVE", doubt, pairs, noise=compared.noise)
    if why := why_unsteady(lab, apart, compared.start, compared.band):
        return concluded(lab, "INCONCLUSIVE", why, pairs, noise=compared.noise)
    if apart:
        verdict, reason = reasons.verdict_of(lab, apart), reasons.of_difference(lab, apart, pairs)
        return concluded(lab, verdict, reason, pairs, noise=compared.noise)
    results, left_out = trials.run(lab, compared.start, compared.reference, pairs, compared.band)
    verdict, reason = reasons.of_agreement(lab, pairs, results, left_out)
    reason = _with_reservations(reason, lab, compared.reference, shared_crashes, lost)
    return concluded(lab, verdict, reason, pairs, results, compared.noise, left_out)


def _with_reservations(
    reason: str, lab: Lab, reference: Run, shared_crashes: Iterable[str], lost: Sequence[str]
) -> str:
    """The reason of a verdict with what it leaves open.

    `lost`: what differs beside the training.
    """
    if reference.world.kind != "genuine":
        reason = f"{ALONE}: {why_alone(lab)}; {reason}"
    reason += "".join(f"; {note}" for note in shared_crashes)
    if lost:
        more = f" (and {len(lost) - 1} more, see the notes)" if len(lost) > 1 else ""
        reason += f"; outside the training, this differs: {lost[0]}{more}"
    if lab.died:
        reason += f"; these are all the steps that the old script takes before it crashes: {crash.shorten(lab.died)}"
    return reason


def _run_the_others(lab: Lab, reference: Run) -> None:
    """Runs all that is compared with the reference, the old script's second run among it."""
    restored = [world for world in all_restored(lab.plan) if world.role != reference.world.role]
    shared = []
    if has_remainder(reference.trace):
        shared = [sharing(reference.world)]
        restored = [sharing(world) for world in restored]
    repeat = again(reference.world)
    wanted = (repeat, *shared, *restored, *all_migrated(lab.plan))
    lab.run(*(world for world in wanted if world.role not in lab.runs), start=reference)


def _but_for_shared_crashes(lab: Lab, pairs: tuple[Pair, ...]) -> tuple[tuple[Pair, ...], tuple[str, ...]]:
    """The pairs, where what crashes on one Keras for the old script as for the new one does not decide, and words for
    it; as they were where nothing else would decide."""
    shared = [p for p in pairs if p.decides and p.kind == "crash" and reasons.same_crash(lab, p)]
    if not shared or not any(p.decides and p not in shared for p in pairs):
        return pairs, ()
    words = tuple(
        f"{reasons.keras_of(new)} is not judged: the old script with multi_gpu_model put back crashes there with the "
        f"same error as the new one ({crash.shorten(new.message, 160)})"
        for new in (lab.runs[pair.new] for pair in shared)
    )
    return tuple(replace(p, decides=False) if p in shared else p for p in pairs), words
