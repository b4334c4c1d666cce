"""The new script held against the old one, in the steps, and in the type, in which the old one's own runs agree."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tfmigrate.verify.judge import crash
from tfmigrate.verify.judge.acting import parted_by_callback
from tfmigrate.verify.judge.align import noise, steady_steps, tolerance
from tfmigrate.verify.judge.causes.evidence import UNNAMED
from tfmigrate.verify.judge.compare import through_steps
from tfmigrate.verify.judge.known import (
    but_for_data,
    but_for_drift,
    but_for_frozen,
    but_for_optimizers,
    but_for_rounding,
    knowing,
    without_remainder,
)
from tfmigrate.verify.judge.lab import Lab, restored_run
from tfmigrate.verify.judge.pairs import paired
from tfmigrate.verify.judge.plan import again
from tfmigrate.verify.judge.report import Pair
from tfmigrate.verify.judge.whole_batches import but_for_whole_batches
from tfmigrate.verify.run.trace import Trace
from tfmigrate.verify.run.world import Run

FEWEST_STEPS = 3
"""What two optimizer updates make of the losses must be seen at least."""
OTHER_THREADS = "two runs of the old script with different thread counts differ too much from each other"
OTHER_KERAS = "the old script trains differently on Keras 2 than on Keras 3, with multi_gpu_model put back on both"


@dataclass(frozen=True)
class Held:
    """The new script held against the old one."""

    start: Run
    """Whose initial weights all runs began with."""
    reference: Run
    noise: float | None
    band: float
    pairs: tuple[Pair, ...]


def settle_steps(lab: Lab, reference: Run) -> None:
    """Where slow runs were ended after a few steps, all are judged by those that each of them took."""
    traces = [run.trace for run in lab.runs.values() if run.ok]
    if lab.plan.exactly is not None or not any(trace.cut is not None and trace.cut.slow for trace in traces):
        return
    common = frozenset.intersection(*(frozenset(step.place for step in trace.steps) for trace in traces))
    places = [step.place for step in reference.trace.steps if step.place in common]
    if places:
        lab.settle_steps(places, f"steps take long here: the first {len(places)} steps are compared")


def measured_noise(lab: Lab, reference: Run, repeated: Run) -> float | None:
    """What two runs of the old script differ by, in the steps or in the type in which they agree where there are such;
    None where it was run once."""
    measured = noise(reference.trace, repeated.trace) if repeated.ok else None
    if measured is None:
        lab.remarks.append(
            f"the old script's own noise was not measured, so the smallest tolerance is used: {repeated.message}"
        )
        return None
    too_much = measured > tolerance(measured, len(reference.trace.steps))
    if not too_much or not _new_one_starts(lab):
        return measured
    steady = _cut_where_they_part(lab, reference, (reference.trace, repeated.trace), OTHER_THREADS)
    if steady is None:
        steady = _computed_in_float64(lab, reference, f"two runs of the old script differ by {measured:.2g}")
    return measured if steady is None else steady


def held(lab: Lab, start: Run, own_noise: float | None) -> Held:
    """Compares old and new; in float64 once more where they differ for no cause that is known."""
    first = _compared_steadily(lab, start, own_noise)
    if not any(pair.decides and pair.kind in UNNAMED for pair in first.pairs):
        return first
    left = _computed_in_float64(lab, first.start, "old and new differ without a known cause")
    return first if left is None else _compared_steadily(lab, lab.runs[first.start.world.role], left)


def _compared_steadily(lab: Lab, start: Run, own_noise: float | None) -> Held:
    """Compares all steps, or those before the old script parts from itself between two Kerases."""
    band = tolerance(own_noise or 0.0, len(start.trace.steps))
    reference, pairs = _compared(lab, start, band)
    both = _restored_on_both(lab)
    if both is not None and any(pair.kind == "unknown" for pair in pairs):
        steady = _cut_where_they_part(lab, start, both, OTHER_KERAS)
        if steady is not None:
            return _compared_steadily(lab, lab.runs[start.world.role], max(own_noise or 0.0, steady))
    if _cut_where_a_callback_acts(lab, pairs, band):
        return _compared_steadily(lab, lab.runs[start.world.role], own_noise)
    return Held(start, reference, own_noise, band, pairs)


def _compared(lab: Lab, start: Run, band: float) -> tuple[Run, tuple[Pair, ...]]:
    """The reference, which may be `start` with other batches, and the pairs, with what is known to explain them."""
    reference, remainder = without_remainder(lab, start)
    pairs = _pairs(lab, start, reference, band)
    if remainder is not None:
        pairs = tuple(knowing(remainder, pair) if pair.old == reference.world.role else pair for pair in pairs)
    pairs = but_for_optimizers(lab, start, reference, pairs, band)
    return reference, but_for_whole_batches(lab, start, reference, pairs, band)


def _new_one_starts(lab: Lab) -> bool:
    """Whether the new script does more anywhere than crash: only then does it matter how steady the old one is."""
    new = [run for run in lab.runs.values() if run.world.kind == "migrated"]
    return any(run.trace.steps or run.outcome != "crashed" for run in new)


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
    apart = [pair for pair in pairs if pair.speaks_against]
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
        plan = lab.plan
        settle_steps(lab, first)  # A float64 takes longer.
        first = lab.runs[first.world.role]
        left = noise(first.trace, lab.runs[again(reference.world).role].trace)
        if left <= tolerance(left, len(first.trace.steps)):
            lab.plan = replace(lab.plan, doubles=True)
            lab.remarks.append(
                f"in float32, {why}: all scripts were run once more in float64, where two runs of the old script "
                f"differ by {left:.2g}, and those runs are compared"
            )
            return left
        lab.plan = plan
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
