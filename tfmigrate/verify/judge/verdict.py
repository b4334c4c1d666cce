"""Runs the old and the new script in every world there is, and says whether their training is the same, or, where they
train nothing, what they predict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tfmigrate.verify.judge import adjustments, beside, crash, todays_names, trials
from tfmigrate.verify.judge.acting import parted_by_callback
from tfmigrate.verify.judge.align import noise, steady_steps, tolerance
from tfmigrate.verify.judge.causes.evidence import UNNAMED
from tfmigrate.verify.judge.compare import through_first_step, through_steps
from tfmigrate.verify.judge.differences import BATCH_NORM
from tfmigrate.verify.judge.known import (
    DATA,
    DRIFTING,
    FORMULA,
    but_for_data,
    but_for_drift,
    but_for_frozen,
    but_for_optimizers,
    but_for_rounding,
    has_remainder,
    knowing,
    of_data,
    without_remainder,
)
from tfmigrate.verify.judge.lab import (
    Lab,
    Publish,
    Tell,
    builds_otherwise,
    cannot_start,
    could_not_run,
    reference_run,
    replicas_of,
    restored_run,
    why_alone,
    why_none,
)
from tfmigrate.verify.judge.pairs import paired, validation_known
from tfmigrate.verify.judge.plan import SHARED, VerifyOptions, again, all_migrated, all_restored, sharing
from tfmigrate.verify.judge.proceedings import hold
from tfmigrate.verify.judge.report import ALONE, ControlResult, Pair, Report, Verdict
from tfmigrate.verify.judge.touched import LeftOut
from tfmigrate.verify.judge.whole_batches import WHOLE_BATCHES, but_for_whole_batches
from tfmigrate.verify.run.side_by_side import run_all
from tfmigrate.verify.run.trace import Trace
from tfmigrate.verify.run.world import Execute, Run

CAUSES = {
    FORMULA: "the optimizers of current Keras",
    DATA: "the data that its libraries make",
    WHOLE_BATCHES: "batch norm over the whole batch, which train_on_batch of Keras 3 gives each replica (TFM432)",
}
"""Of losses that part from the genuine run's, by the known difference that excuses them."""

FEWEST_STEPS = 3
"""What two optimizer updates make of the losses must be seen at least."""
OTHER_THREADS = "two runs of the old script with different thread counts differ too much from each other"
OTHER_KERAS = "the old script trains differently on Keras 2 than on Keras 3, with multi_gpu_model put back on both"


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
        "scripts were run once more without determinism, and what two runs of the old script then differ by sets the "
        "tolerance",
    )
    return _judge_once(lab)


def _judge_once(lab: Lab) -> Report:
    plan = lab.plan
    if why := cannot_start(lab):
        return _report(lab, "COULD NOT RUN", why)

    reference = reference_run(lab)
    if reference is None:
        return _report(lab, "COULD NOT RUN", why_none(lab))
    if plan.options.require_genuine and reference.world.kind != "genuine":
        return _report(lab, "INCONCLUSIVE", f"--require-genuine: {ALONE}: {why_alone(lab)}")
    if plan.options.depth == "smoke":
        return _smoke(lab, reference)
    _run_the_others(lab, reference)
    _settle_steps(lab, reference)
    reference, repeated = lab.runs[reference.world.role], lab.runs[again(reference.world).role]
    todays_names.run_again(lab, reference)
    if why := builds_otherwise(lab, reference):
        lab.set_genuine_aside(why)
        return _judge_once(lab)
    own_noise = noise(reference.trace, repeated.trace) if repeated.ok else None
    if own_noise is None:
        lab.remarks.append(
            f"the old script's own noise was not measured, so the smallest tolerance is used: {repeated.message}"
        )
    elif own_noise > tolerance(own_noise, len(reference.trace.steps)) and _new_one_starts(lab):
        steady = _cut_where_they_part(lab, reference, (reference.trace, repeated.trace), OTHER_THREADS)
        if steady is None:
            steady = _computed_in_float64(lab, reference, f"two runs of the old script differ by {own_noise:.2g}")
        if steady is not None:
            reference, own_noise = lab.runs[reference.world.role], steady
    stopped = could_not_run(lab)
    if stopped is not None:
        return _report(lab, *stopped)
    held = _held(lab, reference, own_noise)
    if any(pair.decides and _kind(pair) in UNNAMED for pair in held.pairs):
        left = _computed_in_float64(lab, held.start, "old and new differ without a known cause")
        if left is not None:
            held = _held(lab, lab.runs[held.start.world.role], left)
    start, reference, own_noise, band = held.start, held.reference, held.noise, held.band
    pairs, shared_crashes = _but_for_shared_crashes(lab, held.pairs)
    lost = beside.lost(lab)
    lab.remarks.extend(f"outside the training, this differs: {what}" for what in lost)
    apart = [pair for pair in pairs if pair.decides and not pair.equivalent]
    doubt = _doubt(reference, own_noise, band)
    if doubt and not any(pair.divergence and pair.divergence.kind != "unknown" for pair in apart):
        return _report(lab, "INCONCLUSIVE", doubt, pairs, noise=own_noise)
    if apart:
        return _report(lab, _of_difference(lab, apart), _different(lab, apart, pairs), pairs, noise=own_noise)
    results, left_out = trials.run(lab, start, reference, pairs, band)
    verdict, reason = _conclude(lab, pairs, results, left_out)
    reason = _with_reservations(reason, lab, reference, shared_crashes, lost)
    return _report(lab, verdict, reason, pairs, results, own_noise, left_out)


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
        reason += f"; these are all the steps that the old script takes before it dies: {crash.shorten(lab.died)}"
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


def _settle_steps(lab: Lab, reference: Run) -> None:
    """Where slow runs were ended after a few steps, all are judged by those that each of them took."""
    traces = [run.trace for run in lab.runs.values() if run.ok]
    if lab.plan.exactly is not None or not any(trace.cut is not None and trace.cut.slow for trace in traces):
        return
    common = frozenset.intersection(*(frozenset(step.place for step in trace.steps) for trace in traces))
    places = [step.place for step in reference.trace.steps if step.place in common]
    if places:
        lab.settle_steps(places, f"a step takes long here: the first {len(places)} steps are compared")


def _new_one_starts(lab: Lab) -> bool:
    """Whether the new script does more anywhere than crash: only then does it matter how steady the old one is."""
    new = [run for run in lab.runs.values() if run.world.kind == "migrated"]
    return any(run.trace.steps or run.outcome != "crashed" for run in new)


@dataclass(frozen=True)
class _Held:
    """The new script held against the old one."""

    start: Run
    """Whose initial weights all runs began with."""
    reference: Run
    noise: float | None
    band: float
    pairs: tuple[Pair, ...]


def _held(lab: Lab, start: Run, own_noise: float | None) -> _Held:
    """Compares all steps, or those before the old script parts from itself between two Kerases."""
    band = tolerance(own_noise or 0.0, len(start.trace.steps))
    reference, pairs = _compared(lab, start, band)
    both = _restored_on_both(lab)
    if both is not None and any(_kind(pair) == "unknown" for pair in pairs):
        steady = _cut_where_they_part(lab, start, both, OTHER_KERAS)
        if steady is not None:
            return _held(lab, lab.runs[start.world.role], max(own_noise or 0.0, steady))
    if _cut_where_a_callback_acts(lab, pairs, band):
        return _held(lab, lab.runs[start.world.role], own_noise)
    return _Held(start, reference, own_noise, band, pairs)


def _compared(lab: Lab, start: Run, band: float) -> tuple[Run, tuple[Pair, ...]]:
    """The reference, which may be `start` with other batches, and the pairs, with what is known to explain them."""
    reference, remainder = without_remainder(lab, start)
    pairs = _pairs(lab, start, reference, band)
    if remainder is not None:
        pairs = tuple(knowing(remainder, pair) if pair.old == reference.world.role else pair for pair in pairs)
    pairs = but_for_optimizers(lab, start, reference, pairs, band)
    return reference, but_for_whole_batches(lab, start, reference, pairs, band)


def _cut_where_they_part(lab: Lab, start: Run, same: tuple[Trace, Trace], why: str) -> float | None:
    """Compares, in all runs, only the steps before two runs that should be the same one part. Returns their noise in
    those steps; None, and nothing changes, if that is every step or hardly one."""
    places = steady_steps(*same)
    if not FEWEST_STEPS <= len(places) < len(start.trace.steps):
        return None
    what = f"the first {len(places)} of {len(start.trace.steps)} steps are compared: after them {why}"
    lab.judge_only(places, what, "the old script's own runs differ from each other")
    first, second = (through_steps(trace, places) for trace in same)
    return noise(first, second)


def _cut_where_a_callback_acts(lab: Lab, pairs: tuple[Pair, ...], band: float) -> bool:
    """Compares, in all runs, only the steps before a callback acts on what is known to differ, where that alone parts
    old and new. Returns whether it is so."""
    apart = [pair for pair in pairs if pair.decides and not pair.equivalent]
    acted = [parted_by_callback(lab.runs[pair.old].trace, lab.runs[pair.new].trace, band) for pair in apart]
    found = [one for one in acted if one is not None]
    if not found or len(found) < len(acted):
        return False
    first = min(found, key=lambda one: len(one.before))
    if len(first.before) < FEWEST_STEPS:
        return False
    what = f"the first {len(first.before)} steps are compared: after them {first.words}"
    lab.judge_only(first.before, what, first.words)
    return True


def _computed_in_float64(lab: Lab, reference: Run, why: str) -> float | None:
    """Makes all runs once more, and those to come, in float64, in which the rounding that grows in a float32 stays
    small: what is left then is no rounding. Returns the noise of the old script in it; None, and nothing changes, where
    it has as much, or a script that runs in float32 does not run so. `why`: in float32, for the report."""
    if lab.plan.doubles or lab.only_float32:
        return None
    before, judged = dict(lab.runs), lab.judged
    lab.judged = None
    worlds = {
        role: replace(run.world, doubles=True) for role, run in before.items() if run.ok and not lab.is_aside(run)
    }
    first = lab.run(worlds.pop(reference.world.role))[0]
    others = lab.run(*worlds.values(), start=first) if first.ok else []
    if first.ok and all(run.ok for run in others):
        left = noise(first.trace, lab.runs[again(reference.world).role].trace)
        if left <= tolerance(left, len(first.trace.steps)):
            lab.plan = replace(lab.plan, doubles=True)
            lab.remarks.append(
                f"in float32, {why}: all scripts were run once more in float64, where two runs of the old script "
                f"differ by {left:.2g}, and those runs are compared"
            )
            return left
    failed = next((run for run in (first, *others) if not run.ok), None)
    if failed is not None:
        lab.remarks.append(
            f"in float32, {why}; in float64, which would show whether that is rounding, {crash.shorten(failed.message)}"
        )
    lab.runs, lab.judged, lab.only_float32 = before, judged, True
    return None


def _restored_on_both(lab: Lab) -> tuple[Trace, Trace] | None:
    """The old script restored on Keras 3 and on Keras 2; None if it did not run on both."""
    runs = [restored_run(lab, keras) for keras in lab.plan.modern]
    traces = {run.world.role: run.trace for run in runs if run is not None}
    if len(traces) != 2:
        return None
    first, second = traces.values()
    return first, second


def _smoke(lab: Lab, reference: Run) -> Report:
    """Whether old and new reach the end of the first step, with the same loss; nothing else is judged."""
    lab.run(*(world for world in all_migrated(lab.plan) if world.role not in lab.runs), start=reference)
    crashed = [run for run in lab.runs.values() if run.world.kind == "migrated" and run.outcome == "crashed"]
    if crashed:  # The old script on the same Keras shows whose fault it is.
        lab.run(*(world for world in all_restored(lab.plan) if world.role not in lab.runs), start=reference)
        if why := builds_otherwise(lab, reference):
            lab.set_genuine_aside(why)
            return _judge_once(lab)
    stopped = could_not_run(lab)
    if stopped is not None:
        return _report(lab, *stopped)
    band = tolerance(0.0, len(reference.trace.steps))
    old = replace(reference, trace=through_first_step(reference.trace))
    news = [lab.runs[world.role] for world in all_migrated(lab.plan)]
    pairs = tuple(paired(old, replace(new, trace=through_first_step(new.trace)), band, decides=True) for new in news)
    if old.world.kind == "genuine" and any(of_data(pair) or _kind(pair) in DRIFTING for pair in pairs):
        pairs = _first_steps_of_today(lab, old, pairs, band)
    pairs = but_for_whole_batches(lab, reference, old, pairs, band, through_first_step)
    apart = [pair for pair in pairs if pair.decides and not pair.equivalent]
    doubt = _doubt(reference, None, math.inf)
    if doubt is None and has_remainder(reference.trace) and not crashed:
        doubt = (
            "both reach the end of step 1, but the first batch does not divide by the replicas, so the two systems "
            "report other means of its loss; run verify without --smoke, which compares the other steps"
        )
    if doubt:
        return _report(lab, "INCONCLUSIVE", doubt, pairs)
    if apart:
        return _report(lab, _of_difference(lab, apart), _different(lab, apart, pairs), pairs)
    return _report(lab, "SMOKE PASSED", _first_step(pairs), pairs)


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


def _report(
    lab: Lab,
    verdict: Verdict,
    reason: str,
    pairs: tuple[Pair, ...] = (),
    results: tuple[ControlResult, ...] = (),
    noise: float | None = None,
    left_out: tuple[LeftOut, ...] = (),
) -> Report:
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


def _pairs(lab: Lab, start: Run, reference: Run, band: float) -> tuple[Pair, ...]:
    """Each run of the new script against the reference and against the restored run; all began as `start` did."""
    is_genuine = reference.world.kind == "genuine"
    deciding = []
    for keras in lab.plan.modern:
        new = lab.runs[f"migrated on Keras {keras}"]
        restored = restored_run(lab, keras)
        same_version = None
        if restored is not None:
            same_version = paired(restored, new, band, decides=not is_genuine)
            same_version = but_for_rounding(lab, start, same_version, restored, new)
            deciding.append(same_version)
        if is_genuine:
            pair = paired(reference, new, band, decides=True, restored=restored)
            if same_version is not None and restored is not None:
                pair = but_for_data(pair, same_version, reference, restored, new, band)
                if same_version.equivalent:
                    pair = but_for_frozen(pair, reference, new, restored, band)
                    pair = but_for_drift(pair, reference, new)
            deciding.append(pair)
        elif same_version is None:
            deciding.append(paired(reference, new, band, decides=True))
    return tuple(sorted(deciding, key=lambda pair: not pair.decides))


def _but_for_shared_crashes(lab: Lab, pairs: tuple[Pair, ...]) -> tuple[tuple[Pair, ...], tuple[str, ...]]:
    """The pairs, where what crashes on one Keras for the old script as for the new one does not decide, and words for
    it; as they were where nothing else would decide."""
    shared = [p for p in pairs if p.decides and _kind(p) == "crash" and _same_crash(lab, p)]
    if not shared or not any(p.decides and p not in shared for p in pairs):
        return pairs, ()
    words = tuple(
        f"{_keras(lab.runs[p.new])} is not judged: the old script with multi_gpu_model put back crashes there with the "
        f"same error as the new one ({crash.shorten(lab.runs[p.new].message, 160)})"
        for p in shared
    )
    return tuple(replace(p, decides=False) if p in shared else p for p in pairs), words


def _of_difference(lab: Lab, apart: list[Pair]) -> Verdict:
    """A new script that crashed and showed no other difference before does not run; any other one differs."""
    new = lab.runs[apart[0].new]
    began = new.trace.steps or new.trace.predictions or crash.has_other_weights(new.trace)  # which the probe ended
    crashed = new.outcome == "crashed" and not began
    return "DOES NOT RUN" if crashed or _kind(apart[0]) == "crash" else "DIFFERENT"


def _kind(pair: Pair) -> str:
    return pair.divergence.kind if pair.divergence else ""


def _different(lab: Lab, apart: list[Pair], pairs: tuple[Pair, ...]) -> str:
    first = apart[0]
    assert first.divergence is not None
    where = first.new if len(apart) < len([p for p in pairs if p.decides]) else "the migrated script"
    does = "predicts" if first.comparison and first.comparison.predictions else "trains"
    if _of_difference(lab, apart) == "DOES NOT RUN":
        return f"{where} crashed: {first.divergence.cause}{_same_crash(lab, first)}{_where_it_runs(lab, pairs)}"
    reason = f"{where} {does} differently: {first.divergence.cause}"
    restored = [pair for pair in pairs if not pair.decides and _kind(pair) != "crash"]
    if restored and all(pair.equivalent for pair in restored):
        reason += (
            "; restored on today's TensorFlow the old script agrees with it, so the versions differ, not the scripts"
        )
    return reason


def _same_crash(lab: Lab, pair: Pair) -> str:
    """What the old script, restored on the same Keras, says of a crash of the new one."""
    new = lab.runs[pair.new]
    role = f"restored on Keras {2 if new.world.legacy_keras else 3}"
    old = lab.runs.get(role) or lab.runs.get(role + SHARED)
    if old is None or old.outcome != "crashed" or not crash.same_error(old.trace, new.trace):
        return ""
    return (
        f"; the old script with multi_gpu_model put back crashes with the same error on the same {_keras(new)}: "
        "today's Keras is the cause, not the strategy"
    )


def _where_it_runs(lab: Lab, pairs: tuple[Pair, ...]) -> str:
    """On which Keras the new script does agree."""
    agree = [lab.runs[pair.new] for pair in pairs if pair.decides and pair.equivalent]
    return "".join(f"; on {_keras(run)} it runs and agrees with the old one" for run in agree)


def _keras(run: Run) -> str:
    known = run.trace.start.keras if run.trace.start else ""  # of a script that died before it had a model, empty
    return f"Keras {known or (2 if run.world.legacy_keras else 3)}"


def _first_step(pairs: tuple[Pair, ...]) -> str:
    comparison = next(pair.comparison for pair in pairs if pair.comparison and not pair.comparison.excused)
    size, what = comparison.max_relative_difference, "reach the end of step 1, with the same loss"
    if comparison.predictions:
        what = "predict the same"
    return (
        f"old and new {what} (largest relative difference {size:.2g}, tolerance {comparison.tolerance:.2g}); "
        "nothing else was looked at: run verify without --smoke before you trust it"
    )


def _doubt(reference: Run, own_noise: float | None, band: float) -> str | None:
    """Why these losses could not prove anything, whatever they are."""
    if replicas_of(reference) < 2:
        did = "predicted" if reference.trace.predictions else "trained"
        return (
            f"the old script {did} on one replica, so multi_gpu_model was not at work; "
            "give the arguments with which it uses several GPUs (--args)"
        )
    if not all(math.isfinite(step.loss) for step in reference.trace.steps):
        return "the old script's loss is not a number at some steps, so nothing after them can be compared"
    if any(math.isnan(output.largest) for call in reference.trace.predictions for output in call.outputs):
        return "some of what the old script predicts is not a number, so that it cannot be compared"
    if own_noise is not None and own_noise > band:
        return (
            f"two runs of the old script with different thread counts already differ by {own_noise:.3g}, more than the "
            f"widest tolerance {band:.3g}; try fewer epochs"
        )
    return None


def _conclude(
    lab: Lab, pairs: tuple[Pair, ...], results: tuple[ControlResult, ...], left_out: tuple[LeftOut, ...]
) -> tuple[Verdict, str]:
    missed = [result.mutation for result in results if not result.detected]
    if missed:
        return "INCONCLUSIVE", f"the runs agree, but so does a wrong migration: {', '.join(missed)}"
    if len(results) < trials.ENOUGH:
        return "INCONCLUSIVE", f"the runs agree, but only {len(results)} wrong migrations could be made to compare with"
    counted = [pair.comparison for pair in pairs if pair.decides and pair.comparison]
    # Where a known difference explains the losses, those of the restored run are what the migration is judged by.
    deciding = [comparison for comparison in counted if not comparison.excused] or [
        pair.comparison for pair in pairs if pair.comparison and pair.equivalent and not pair.decides
    ]
    size = max(comparison.max_relative_difference for comparison in deciding)
    calls = deciding[0].predictions
    if calls:
        rows = sum(pair.old.samples or 0 for pair in calls)
        what = f"over {rows:,} rows in {len(calls)} calls the predictions"
    else:
        steps = f"{len(deciding[0].judged_steps)} steps"
        taken = lab.covered() if lab.was_cut else steps
        if lab.judged is not None and lab.judged.after:
            taken = f"the first {steps}, after which {lab.judged.after},"
        what = f"over {taken} the training losses{', computed in float64,' if lab.plan.doubles else ''}"
    possible = len(results) + sum(control.possible for control in left_out)
    count = f"{len(results)} wrong migrations" if possible == len(results) else f"{len(results)} of {possible} possible"
    count += " were all detected" if possible == len(results) else " wrong migrations were made and all detected"
    reason = f"{what} differ by {size:.2g} at most (tolerance {deciding[0].tolerance:.2g}); {count}"
    apart = max((comparison.max_relative_difference for comparison in counted if comparison.excused), default=0.0)
    if apart:
        reason += (
            f"; from those of the old script they differ by up to {apart:.2g}, which comes, as runs showed, from "
            + " and ".join(sorted({CAUSES[comparison.excused] for comparison in counted if comparison.excused}))
            + " alone"
        )
    known = {difference.name for comparison in counted for difference in comparison.known} - CAUSES.keys()
    if known:
        reason += f"; known differences of the two systems, listed separately: {', '.join(sorted(known))}"
    if any(validation_known(comparison) == BATCH_NORM and not comparison.validated_alike for comparison in counted):
        reason += "; they hide what validation losses would show, so check that both scripts validate on the same data"
    return "EQUIVALENT", reason
