"""Runs the worlds of a plan, and remembers every run."""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

from tfmigrate.verify.judge import crash, older_keras, provenance
from tfmigrate.verify.judge.compare import through_steps
from tfmigrate.verify.judge.depth import coverage
from tfmigrate.verify.judge.plan import SHARED, Plan, again, all_migrated, all_restored
from tfmigrate.verify.judge.report import CONTROL, Pair, Report, Verdict
from tfmigrate.verify.judge.summaries import RunSummary, summarize
from tfmigrate.verify.run import needs, packages
from tfmigrate.verify.run.outcome import STOPPED
from tfmigrate.verify.run.side_by_side import usual_jobs
from tfmigrate.verify.run.trace import Place
from tfmigrate.verify.run.world import Execute, Initial, Limits, Run, World

T = TypeVar("T")
Tell = Callable[[str], None]
Publish = Callable[[Report], None]
"""Given what is known after every run."""


@dataclass(frozen=True)
class Judged:
    """The steps that are compared, where that is not all of them."""

    places: frozenset[Place]
    why: tuple[str, ...]
    """Sentences for the report."""
    after: str
    """What keeps later steps from being compared, in words; empty where it is the time they take."""


class Lab:
    """Runs worlds and remembers every run by its role."""

    def __init__(
        self, plan: Plan, folder: Path, tell: Tell, execute: Execute, publish: Publish = lambda report: None
    ) -> None:
        self.plan, self.folder, self.tell, self.execute, self.publish = plan, folder, tell, execute, publish
        self.runs: dict[str, Run] = {}
        self.over: dict[str, Run] = {}
        """Every run that is over, be it the leader of a group that is not; `runs` has those of whole groups."""
        self.wanted: list[str] = []
        """Roles of the runs that were begun, or wait for their turn."""
        self.one_at_a_time = threading.Lock()
        self.aside = ""
        """Why the genuine run, though it trained, is no reference; empty where it may be one."""
        self.died = ""
        """How the old script ends in every world, after steps that are compared; empty where it comes to its end."""
        self.judged: Judged | None = None
        """The steps that are compared; None where all are."""
        self.only_float32 = False
        """A script did not run in float64, or was no steadier in it."""
        self.remarks = list(plan.notes)
        self.provenance = provenance.of(plan)
        self.count = 0

    @property
    def jobs(self) -> int:
        return self.plan.options.jobs or usual_jobs()

    def run(
        self, *worlds: World, start: Run | None = None, limits: Limits | None = None, jobs: int | None = None
    ) -> list[Run]:
        """Runs worlds that do not wait for one another, from the initial weights of `start`."""
        initial = start.trace if start else None
        done = [self._as_judged(run) for run in self._run([(world, initial) for world in worlds], limits, jobs)]
        self.runs.update({run.world.role: run for run in done})
        return done

    def over_of(self, worlds: Sequence[World]) -> list[Run]:
        """The runs of a group that was ended with some of them over."""
        done = [self._as_judged(self.over[world.role]) for world in worlds if world.role in self.over]
        self.runs.update({run.world.role: run for run in done})
        return done

    def lead(self, leader: World, *others: World) -> Run:
        """Runs `leader`, and the others beside it from its initial weights; when it fails, they are not remembered."""
        first, *rest = self._run([(leader, None), *((world, leader) for world in others)])
        self.runs.update({run.world.role: run for run in (first, *(rest if first.ok else ()))})
        return first

    def begin_anew(self, plan: Plan, why: str) -> None:
        """Forgets all that was run and judged; `why` is for the report."""
        self.plan, self.remarks = plan, [*plan.notes, why]
        self.runs, self.over, self.wanted = {}, {}, []
        self.aside, self.died, self.judged, self.only_float32 = "", "", None, False

    def set_genuine_aside(self, why: str) -> None:
        """Forgets the runs that began with the genuine run's weights: the next reference is a restored one."""
        self.aside = why
        self.runs = {role: run for role, run in self.runs.items() if run.world.kind == "genuine"}

    def is_aside(self, run: Run) -> bool:
        return bool(self.aside) and run.world.kind == "genuine"

    def judge_only(self, places: Iterable[Place], why: str, after: str = "") -> None:
        """Compares these steps alone, of the runs so far and of all to come; see Judged."""
        before = self.judged.why if self.judged is not None else ()
        self.judged = Judged(frozenset(places), (*before, why), after)
        self.runs = {role: self._as_judged(run) for role, run in self.runs.items()}

    def end_before_the_crash(self) -> bool:
        """Where the old script dies wherever it is run, lets all runs take the steps that it took everywhere, and no
        more. Returns whether there are any."""
        died = [run for run in self.runs.values() if run.outcome == "crashed"]
        steps = min((len(run.trace.steps) for run in died), default=0)
        if not steps or self.plan.exactly is not None:
            return False
        self.plan = replace(self.plan, patience=None, exactly=steps)
        self.died = died[0].message
        self.runs = {}
        return True

    def settle_steps(self, places: Sequence[Place], why: str) -> None:
        """Compares these first steps alone, and takes no more in the runs to come, however fast they are."""
        self.plan = replace(self.plan, patience=None, exactly=len(places))
        self.judge_only(places, why)

    def _as_judged(self, run: Run) -> Run:
        return run if self.judged is None else replace(run, trace=through_steps(run.trace, self.judged.places))

    def _run(
        self, worlds: Sequence[tuple[World, Initial]], limits: Limits | None = None, jobs: int | None = None
    ) -> list[Run]:
        if worlds:
            self.tell(f"running {_named(world for world, _ in worlds)}")
        folders = [self.folder / f"{self.count + i} {_file_name(w.role)}" for i, (w, _) in enumerate(worlds)]
        self.count += len(folders)
        self.wanted += [world.role for world, _ in worlds if world.role not in self.wanted]
        jobs = self.plan.options.jobs or jobs
        return self.execute(worlds, limits or self.plan.limits, folders, jobs, done=self._ended)

    def _ended(self, run: Run) -> None:
        """Publishes what is known once a run is over; the runs of a group end in threads of their own."""
        if run.message.endswith(STOPPED):  # by us, with whatever it waited for
            return
        with self.one_at_a_time:
            self.over[run.world.role] = run
            self.publish(self.unfinished("under way", f"{len(self.over)} runs have finished, no verdict yet"))

    def unfinished(
        self, state: Literal["under way", "out of time", "interrupted"], reason: str, pairs: tuple[Pair, ...] = ()
    ) -> Report:
        """A report of what is known, for which nothing was concluded."""
        left = [role for role in self.wanted if role not in self.over]
        missing = f"; unfinished: {', '.join(left)}" if left else ""
        return Report(
            "INCONCLUSIVE",
            reason + missing,
            self.plan.title,
            self.summaries(self.over),
            pairs,
            notes=tuple(self.remarks),
            depth=self.plan.options.depth,
            covered=self.covered(),
            state=state,
            provenance=self.provenance,
        )

    @property
    def was_cut(self) -> bool:
        """Whether the budget ended the scripts before their own end."""
        return any(run.trace.cut is not None for run in self.over.values() if run.ok)

    def covered(self) -> str:
        """How much of the training the runs did that is compared, by the first that trained."""
        slow = self.judged is not None and not self.judged.after
        runs = [self._as_judged(run) if slow else run for run in self.over.values() if run.ok]
        return next((coverage(run.trace) for run in runs), "")

    def summaries(self, runs: Mapping[str, Run] | None = None) -> tuple[RunSummary, ...]:
        return tuple(
            summarize(role, _python(run), run.trace, run.seconds, "ok" if run.ok else crash.shorten(run.message))
            for role, run in (self.runs if runs is None else runs).items()
        )

    def notes(self) -> tuple[str, ...]:
        """What the plan and the runs had to say, each remark once."""
        remarks: dict[str, str] = {}
        for role, run in self.runs.items():
            for note in () if role.startswith(CONTROL) else run.notes:
                remarks.setdefault(note, f"{role}: {note}")
        judged = self.judged.why if self.judged is not None else ()
        sandboxes = self._alike(lambda run: run.trace.confined)
        kept = [f"sandbox of {roles}: {', '.join(by) or 'none'}" for by, roles in sandboxes.items()]
        done = [f"on {machine}: {roles}" for machine, roles in self._alike(lambda run: run.machine).items()]
        lost = [f"{role}: repeated, because {why}" for role, run in self.runs.items() for why in run.lost]
        return (*self.remarks, *judged, *kept, *remarks.values(), *done, *lost)

    def _alike(self, of: Callable[[Run], T | None]) -> dict[T, str]:
        """The roles of all runs of which the same is true, as words."""
        found: dict[T, list[str]] = {}
        for role, run in self.runs.items():
            value = of(run)
            if value is not None:
                found.setdefault(value, []).append(role)
        return {value: "all runs" if len(found) == 1 else ", ".join(roles) for value, roles in found.items()}

    def keep(self, target: Path | None) -> None:
        """Copies what the runs printed and recorded, but for the weights, to where the user asked."""
        for run in self.runs.values() if target else ():
            assert target is not None
            folder = target / run.stdout_path.parent.name
            folder.mkdir(parents=True, exist_ok=True)
            for file in (run.stdout_path, run.stderr_path, run.trace.folder / "trace.jsonl"):
                if file.exists():
                    shutil.copy(file, folder / file.name)


def _named(worlds: Iterable[World]) -> str:
    """`genuine, genuine, 1 thread (Python 3.7.16, TensorFlow 1.15.0, keras 2.3.1); migrated on Keras 3 (...)`"""
    roles: dict[str, list[str]] = {}
    for world in worlds:
        roles.setdefault(world.runtime.label, []).append(world.role)
    return "; ".join(f"{', '.join(names)} ({label})" for label, names in roles.items())


def _python(run: Run) -> str:
    return "Python " + ".".join(map(str, run.world.runtime.version))


def _file_name(role: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", role).strip("-").lower()


def genuine_world(lab: Lab) -> World:
    """The old script in its old runtime, with the packages that this lacks. Raises KeyError where there is none."""
    world = lab.plan.world("genuine")
    if not lab.plan.options.packages:
        return world
    provided = packages.provide(world, lab.tell)
    lab.remarks.extend(provided.notes)
    return replace(world, packages=provided.folder)


def reference_run(lab: Lab) -> Run | None:
    """The run of the old script that everything is measured against: genuine where that works, else restored. Where it
    dies in every world after some training, it is ended before that.

    Where there are processors for it, all that can be known to be wanted runs beside it."""
    return _first_to_end(lab) or (_first_to_end(lab) if lab.end_before_the_crash() else None)


def _first_to_end(lab: Lab) -> Run | None:
    plan = lab.plan
    candidates = [genuine_world(lab)] if plan.genuine is not None and not lab.aside else []
    candidates += all_restored(plan)
    for world in candidates:
        beside = wanted_beside(plan, world) if lab.jobs > 1 else ()
        run = lab.lead(world, *(other for other in beside if other.role not in (world.role, *lab.runs)))
        if run.ok:
            return run
    return None


def wanted_beside(plan: Plan, reference: World) -> tuple[World, ...]:
    """What is wanted whatever the reference run shows; a smoke test asks for nothing but the new script."""
    if plan.options.depth == "smoke":
        return tuple(all_migrated(plan))
    return (again(reference), *all_restored(plan), *all_migrated(plan))


def restored_run(lab: Lab, keras: int) -> Run | None:
    """The old script restored on this Keras; where it does not run there, on the other one."""
    for version in (keras, *lab.plan.modern):
        for role in (f"restored on Keras {version}{SHARED}", f"restored on Keras {version}"):
            run = lab.runs.get(role)
            if run is not None and run.ok:
                return run
    return None


def why_none(lab: Lab) -> str:
    """Why the old script runs nowhere, the genuine run's words first."""
    messages = [run.message for run in lab.runs.values()] or lab.plan.notes
    advised = next(filter(None, (older_keras.advice(lab.plan, run) for run in lab.runs.values())), "")
    return "the old script could not be run. " + ". ".join([*messages, *filter(None, [advised])])


def why_alone(lab: Lab) -> str:
    """Why nothing is compared with the old script in a TensorFlow of its time; empty where it is."""
    if lab.aside:
        return lab.aside
    ran = [run for run in lab.runs.values() if run.world.kind == "genuine"]
    if any(run.ok for run in ran):
        return ""
    if not ran:
        return "no TensorFlow of its time was found"
    if lacks := re.search(r"No module named '([^'.]+)", ran[0].error):
        return f"the old one lacks {lacks[1]}"
    return f"the old script failed in the old one ({crash.shorten(ran[0].message)})"


def builds_otherwise(lab: Lab, reference: Run) -> str:
    """Why the genuine run is no reference: its weights fit neither the restored old script nor the new one, because
    current Keras builds another model. Empty if they fit one of the two."""
    if reference.world.kind != "genuine":
        return ""
    for keras in lab.plan.modern:
        old, new = (lab.runs.get(f"{kind} on Keras {keras}") for kind in ("restored", "migrated"))
        if old and new and crash.has_other_weights(old.trace) and crash.has_other_weights(new.trace):
            error = crash.shorten(old.message)
            return f"the old Keras builds a different model than Keras {keras} does from the same script ({error})"
    return ""


def cannot_start(lab: Lab) -> str:
    """Why the new script cannot even be started, asked before anything is run; empty where it may."""
    if not lab.plan.modern:
        how = "pip install 'tfmigrate[verify]', or --new-python"
        return f"no interpreter with TensorFlow 2.16 or later was found; {how}"
    if lab.runs:
        return ""
    return next(filter(None, map(needs.why_it_cannot_start, all_migrated(lab.plan))), "")


def could_not_run(lab: Lab) -> tuple[Verdict, str] | None:
    """Ends of the new script that say nothing about its training."""
    for run in lab.runs.values():
        if run.world.kind != "migrated" or run.ok:
            continue
        missing = re.search(r"ModuleNotFoundError: No module named '([^'.]+)", run.message)
        if missing and missing[1] not in ("keras", "tensorflow"):
            return "COULD NOT RUN", run.message
        if run.outcome == "missing runtime":
            return "COULD NOT RUN", run.message
        if run.outcome == "timed out" and (hung := _hung(lab, run)):
            return "DOES NOT RUN", f"{run.message}; {hung}"
        if run.outcome in ("timed out", "stood still", "over a limit"):
            return "INCONCLUSIVE", run.message
    return None


FASTER = 10
"""Times. A step that the other world compiles, or that takes longer there, does not make so much of a difference."""


def _hung(lab: Lab, new: Run) -> str:
    """How fast the old script was where the new one, ended for its time, had not begun to train; empty where that shows
    nothing."""
    ended = [run.seconds for run in lab.runs.values() if run.world.kind != "migrated" and run.ok]
    if new.trace.steps or new.trace.predictions or not ended or new.seconds < FASTER * max(ended):
        return ""
    return f"the old script finished in {max(ended):.0f} seconds, so time is not the problem"


def replicas_of(run: Run) -> int:
    return max((model.replicas for model in run.trace.models), default=1)
