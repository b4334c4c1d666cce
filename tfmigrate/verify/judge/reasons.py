"""The reasons of a verdict, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tfmigrate.verify.judge import crash, trials
from tfmigrate.verify.judge.compare import Comparison
from tfmigrate.verify.judge.differences import BATCH_NORM
from tfmigrate.verify.judge.known import DATA, FORMULA
from tfmigrate.verify.judge.lab import Lab, replicas_of
from tfmigrate.verify.judge.pairs import validation_known
from tfmigrate.verify.judge.plan import SHARED
from tfmigrate.verify.judge.report import ControlResult, Pair, Verdict
from tfmigrate.verify.judge.touched import LeftOut
from tfmigrate.verify.judge.whole_batches import WHOLE_BATCHES
from tfmigrate.verify.run.world import Run

CAUSES = {
    FORMULA: "the optimizers of current Keras",
    DATA: "the data that its libraries produce",
    WHOLE_BATCHES: "batch norm over the whole batch, which each replica gets from train_on_batch of Keras 3 (TFM432)",
}
"""Of losses that part from the genuine run's, by the known difference that excuses them."""


def verdict_of(lab: Lab, apart: list[Pair]) -> Verdict:
    """A new script that crashed and showed no other difference before does not run; any other one differs."""
    new = lab.runs[apart[0].new]
    began = new.trace.steps or new.trace.predictions or crash.has_other_weights(new.trace)  # which the probe ended
    crashed = new.outcome == "crashed" and not began
    return "DOES NOT RUN" if crashed or apart[0].kind == "crash" else "DIFFERENT"


def of_difference(lab: Lab, apart: list[Pair], pairs: tuple[Pair, ...]) -> str:
    first = apart[0]
    assert first.divergence is not None
    where = first.new if len(apart) < len([p for p in pairs if p.decides]) else "the migrated script"
    does = "predicts" if first.comparison and first.comparison.predictions else "trains"
    if verdict_of(lab, apart) == "DOES NOT RUN":
        return f"{where} crashed: {first.divergence.cause}{same_crash(lab, first)}{_where_it_runs(lab, pairs)}"
    reason = f"{where} {does} differently: {first.divergence.cause}"
    restored = [pair for pair in pairs if not pair.decides and pair.kind != "crash"]
    if restored and all(pair.equivalent for pair in restored):
        reason += (
            "; restored on today's TensorFlow, the old script agrees with it, so the versions differ, not the scripts"
        )
    return reason


def same_crash(lab: Lab, pair: Pair) -> str:
    """What the old script, restored on the same Keras, says of a crash of the new one."""
    new = lab.runs[pair.new]
    role = f"restored on Keras {2 if new.world.legacy_keras else 3}"
    old = lab.runs.get(role) or lab.runs.get(role + SHARED)
    if old is None or old.outcome != "crashed" or not crash.same_error(old.trace, new.trace):
        return ""
    return (
        f"; the old script with multi_gpu_model put back crashes with the same error on the same {keras_of(new)}: "
        "today's Keras is the cause, not the strategy"
    )


def _where_it_runs(lab: Lab, pairs: tuple[Pair, ...]) -> str:
    """On which Keras the new script does agree."""
    agree = [lab.runs[pair.new] for pair in pairs if pair.decides and pair.equivalent]
    return "".join(f"; on {keras_of(run)} it runs and agrees with the old one" for run in agree)


def keras_of(run: Run) -> str:
    known = run.trace.start.keras if run.trace.start else ""  # of a script that died before it had a model, empty
    return f"Keras {known or (2 if run.world.legacy_keras else 3)}"


def doubt(reference: Run, own_noise: float | None, band: float) -> str | None:
    """Why these losses could not prove anything, whatever they are."""
    if replicas_of(reference) < 2:
        did = "predicted" if reference.trace.predictions else "trained"
        return (
            f"the old script {did} on one replica, so multi_gpu_model was not used; pass the arguments with which it "
            "uses several GPUs (--args)"
        )
    if not all(math.isfinite(step.loss) for step in reference.trace.steps):
        return "the old script's loss is not a number at some steps, so nothing after them can be compared"
    if any(math.isnan(output.largest) for call in reference.trace.predictions for output in call.outputs):
        return "some predictions of the old script are not numbers, so they cannot be compared"
    if own_noise is not None and own_noise > band:
        return (
            f"two runs of the old script with different thread counts already differ by {own_noise:.3g}, more than the "
            f"widest tolerance {band:.3g}; try fewer epochs"
        )
    return None


def of_agreement(
    lab: Lab, pairs: Sequence[Pair], results: Sequence[ControlResult], left_out: Sequence[LeftOut]
) -> tuple[Verdict, str]:
    """What the controls make of an agreement of all that decides."""
    missed = [result.mutation for result in results if not result.detected]
    if missed:
        return "INCONCLUSIVE", f"the runs agree, but so does a wrong migration: {', '.join(missed)}"
    if len(results) < trials.ENOUGH:
        return "INCONCLUSIVE", f"the runs agree, but only {len(results)} wrong migrations could be run for comparison"
    counted = [pair.comparison for pair in pairs if pair.decides and pair.comparison]
    # Where a known difference explains the losses, those of the restored run are what the migration is judged by.
    deciding = [comparison for comparison in counted if not comparison.excused] or [
        pair.comparison for pair in pairs if pair.comparison and pair.equivalent and not pair.decides
    ]
    size = max(comparison.max_relative_difference for comparison in deciding)
    within = f"differ by {size:.2g} at most (tolerance {deciding[0].tolerance:.2g})"
    reason = f"{_what_agrees(lab, deciding[0])} {within}; {_detected(len(results), left_out)}"
    return "EQUIVALENT", reason + _excused(counted) + _listed_separately(counted)


def _what_agrees(lab: Lab, comparison: Comparison) -> str:
    calls = comparison.predictions
    if calls:
        rows = sum(pair.old.samples or 0 for pair in calls)
        return f"over {rows:,} rows in {len(calls)} calls the predictions"
    steps = f"{len(comparison.judged_steps)} steps"
    taken = lab.covered() if lab.was_cut else steps
    if lab.judged is not None and lab.judged.after:
        taken = f"the first {steps}, after which {lab.judged.after},"
    return f"over {taken} the training losses{', computed in float64,' if lab.plan.doubles else ''}"


def _detected(made: int, left_out: Sequence[LeftOut]) -> str:
    """How many wrong migrations were found out, of those that could be made."""
    possible = made + sum(control.possible for control in left_out)
    if possible == made:
        return f"{made} wrong migrations were all detected"
    return f"{made} of {possible} possible wrong migrations were run and all detected"


def _excused(counted: Sequence[Comparison]) -> str:
    """How far the losses part for known differences that runs have shown."""
    excused = [comparison for comparison in counted if comparison.excused]
    apart = max((comparison.max_relative_difference for comparison in excused), default=0.0)
    if not apart:
        return ""
    causes = " and ".join(sorted({CAUSES[comparison.excused] for comparison in excused}))
    return (
        f"; they differ from those of the old script by up to {apart:.2g}, which runs showed to come only from {causes}"
    )


def _listed_separately(counted: Sequence[Comparison]) -> str:
    """The other known differences, and what they leave for the user to check."""
    words = ""
    known = {difference.name for comparison in counted for difference in comparison.known} - CAUSES.keys()
    if known:
        words += f"; known differences of the two systems, listed separately: {', '.join(sorted(known))}"
    if any(validation_known(comparison) == BATCH_NORM and not comparison.validated_alike for comparison in counted):
        words += (
            "; they hide differences in the validation losses, so check that both scripts validate on the same data"
        )
    return words
