"""Runs the old and the new script in every world there is, and says whether their training is the same, or, where they
train nothing, what they predict."""

from __future__ import annotations

import ast
import contextlib
import math
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from ..errors import UserError
from . import adjustments, cause, controls, devices, runtimes
from .align import noise, pair_steps, relative_difference, tolerance
from .cause import Divergence
from .compare import Comparison, compare, same_run, through_epoch
from .contract import CLASS_WEIGHTED, LAST_BATCH, NEEDED, REMAINDER, KnownDifference, Row
from .experiment import Execute, Initial, Limits, Run, World, run_all, usual_jobs
from .optimizers import WRITTEN_ANEW, describe, formula, optimizer_name, pair_compiles
from .report import CONTROL, ControlResult, Pair, Report, RunSummary, Verdict, summarize
from .runtimes import Runtime
from .trace import Trace

ENOUGH_CONTROLS = 3
"""So many deliberately wrong migrations must be told apart before EQUIVALENT means anything."""

DEFAULT_REPLICAS = 4

OTHER_VALIDATION = (LAST_BATCH, CLASS_WEIGHTED)

NO_WORKERS = (
    "Keras 3 was left out: its fit does not run under MultiWorkerMirroredStrategy (3.15.1: ValueError, Attempt to "
    "convert a value (PerReplica...) with an unsupported type); Keras 2 does (TF_USE_LEGACY_KERAS=1)"
)

OLD_OPTIMIZERS = ", optimizers of its time"
FORMULA = "optimizer of another Keras"
NUDGED = ", weights nudged"
ROUNDING = "rounding that grows"
DRIFT = "version drift"
DRIFT_BAND = 1e-3
"""How far a genuine run may drift from a new one that agrees with the restored run. TF 1.15 and 2.3 take Adam's
1 - beta_2 in float32 (1.3e-5 too small), Keras 3 in float64: 30 steps of a small network part by 4.9e-6 for that alone,
and a run of thousands by a hundred times as much. A default that changed shows from 1e-2 on."""

DRIFTING = frozenset({"unknown", "validation", "batch norm", "predictions"})
"""Kinds of divergence that no setting and no data explain."""

Keras = Literal[2, 3]
Tell = Callable[[str], None]


@dataclass(frozen=True)
class VerifyOptions:
    """What to verify, and where it may run."""

    old: Path
    """The script with multi_gpu_model."""
    new: Path
    """The migrated script."""
    args: tuple[str, ...] = ()
    """Command line of both scripts."""
    program: Path | None = None
    """The folder that holds the whole program and becomes the working directory; the script's own by default."""
    replicas: int | None = None
    """Devices that the scripts find; by default the largest number of GPUs the old script writes out, else 4."""
    workers: int = 1
    """Processes over which the migrated script is spread, by MultiWorkerMirroredStrategy over loopback."""
    old_python: Path | None = None
    """Interpreter for the genuine run; by default found (see `runtimes`)."""
    new_python: Path | None = None
    """Interpreter with TensorFlow >= 2.16 for the restored and the migrated runs; by default found."""
    seconds: float = 900.0
    """Time limit of each run."""
    epochs: int | None = None
    """Train so many epochs at most."""
    steps: int | None = None
    """Train so many steps an epoch at most."""
    subset: int | None = None
    """Train on so many samples an epoch at most, in whole batches."""
    synthetic_data: bool = False
    """Answer keras.datasets.*.load_data() with made-up data of the right shape."""
    kerases: tuple[Keras, ...] = (3, 2)
    """Run the new script on these."""
    environment: Mapping[str, str] = field(default_factory=dict)
    jobs: int | None = None
    """Runs side by side; by default one for every two processors, and one for each where nobody reads their speed."""
    keep: Path | None = None
    """Folder that receives each run's stdout, stderr and trace."""


def verify(options: VerifyOptions, tell: Tell = lambda line: None, execute: Execute = run_all) -> Report:
    """Runs both scripts and compares them; `tell` receives a line as each group of runs begins.

    What goes wrong with a run is in the report. Raises UserError for options that name what is not there.
    """
    plan = Plan.of(options)
    with tempfile.TemporaryDirectory(prefix="tfmigrate-verify-") as folder:
        lab = Lab(plan, Path(folder), tell, execute)
        try:
            return _judge(lab)
        finally:
            lab.keep(options.keep)


# What is to be run


@dataclass(frozen=True)
class Plan:
    """The options with every question answered."""

    options: VerifyOptions
    flavour: str
    replicas: int
    genuine: Runtime | None
    modern: Mapping[Keras, Runtime]
    notes: tuple[str, ...]

    @property
    def title(self) -> str:
        return f"{self.options.old} -> {self.options.new}"

    @property
    def limits(self) -> Limits:
        o = self.options
        return Limits(seconds=o.seconds, epochs=o.epochs, steps_per_epoch=o.steps, samples=o.subset)

    @classmethod
    def of(cls, options: VerifyOptions) -> Plan:
        for path in (options.old, options.new):
            if not path.is_file():
                raise UserError(f"{path}: no such file; verify takes the old script and the migrated one")
        if options.program is not None and not options.old.resolve().is_relative_to(options.program.resolve()):
            raise UserError(f"{options.old} is not in {options.program}, the folder given for the program")
        if options.replicas is not None and options.replicas < 2:
            raise UserError(f"--replicas {options.replicas}: multi_gpu_model needs two at least")
        tree = _program(options)
        _parse(options.new)
        flavour = "estimator" if trains_estimators(options.old, options.program) else flavour_of(tree)
        found = runtimes.discover() if options.old_python is None or options.new_python is None else ()
        notes: list[str] = []
        genuine = _chosen(options.old_python, "--old-python", flavour) or runtimes.genuine_for(
            flavour, found, ast.unparse(tree)
        )
        if genuine is None:
            recipe = runtimes.MAKES[f"genuine {flavour}"]
            if flavour == "estimator":
                missing = "no TensorFlow 1.14 to 2.15 was found, and no other has tf.estimator"
            else:
                missing = (
                    f"no old TensorFlow was found for a {flavour} script, so the old script ran only with "
                    "multi_gpu_model restored on today's"
                )
            notes.append(f"{missing}; `tfmigrate runtimes --make {recipe}` builds a genuine one")
        given = _chosen(options.new_python, "--new-python", flavour)
        modern: dict[Keras, Runtime] = {}
        for keras in options.kerases:
            runtime = runtimes.modern((given,) if given else found, keras)
            if runtime is not None:
                modern[keras] = runtime
            else:
                package = "tensorflow>=2.16" if keras == 3 else "tf-keras"
                notes.append(f"Keras {keras} was left out: no interpreter has it (pip install '{package}')")
        several = options.workers > 1
        replicas = options.replicas or replicas_written(tree) or (options.workers if several else DEFAULT_REPLICAS)
        if replicas % options.workers:
            raise UserError(f"--workers {options.workers}: {replicas} replicas cannot be shared out among them")
        if several and replicas != options.workers and not devices.gpus():
            raise UserError(
                f"--workers {options.workers}: a worker without GPUs has one replica, and {options.old} trains on "
                f"{replicas}; use --workers {replicas}"
            )
        if several and 3 in modern:
            del modern[3]
            notes.append(NO_WORKERS)
        return cls(options, flavour, replicas, genuine, modern, tuple(notes))

    def world(self, kind: Literal["genuine", "restored", "migrated"], keras: Keras | None = None) -> World:
        """Raises KeyError when no runtime serves it."""
        o = self.options
        script = o.new if kind == "migrated" else o.old
        source = script.resolve().parent
        if o.program is not None and script.resolve().is_relative_to(o.program.resolve()):
            source = o.program.resolve()
        runtime = self.genuine if keras is None else self.modern[keras]
        if runtime is None:
            raise KeyError(kind)
        return World(
            role=kind if keras is None else f"{kind} on Keras {keras}",
            kind=kind,
            runtime=runtime,
            source=source,
            script=str(script.resolve().relative_to(source)),
            args=o.args,
            replicas=self.replicas,
            legacy_keras=keras == 2,
            synthetic_data=o.synthetic_data,
            workers=o.workers if kind == "migrated" else 1,
            standalone=self.flavour == "keras",
            environment=o.environment,
        )


def _parse(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_bytes(), str(path))
    except (SyntaxError, ValueError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        message = error.msg if isinstance(error, SyntaxError) else str(error)
        raise UserError(f"{path}{line}: does not parse as Python 3 ({message}), so it cannot be run") from None


def _program(options: VerifyOptions) -> ast.Module:
    """The old script with the modules of its program that it imports, as one."""
    whole = _parse(options.old)
    script = options.old.resolve()
    folder = options.program.resolve() if options.program is not None else script.parent
    name = str(script.relative_to(folder))
    for other, source in controls.program_of(folder, name).items():
        if other != name:
            with contextlib.suppress(SyntaxError, ValueError):
                whole.body += ast.parse(source).body
    return whole


def _chosen(python: Path | None, option: str, flavour: str) -> Runtime | None:
    if python is None:
        return None
    runtime = runtimes.inspect(python, option)
    if runtime is None:
        raise UserError(f"{option} {python}: not a Python 3 interpreter that can be run")
    old = {"genuine estimator"} if flavour == "estimator" else {"genuine keras", "genuine tf.keras"}
    wanted = old if option == "--old-python" else {"keras 2", "keras 3"}
    if not wanted & set(runtime.kinds):
        oldest = "TensorFlow 1.14 to 2.15" if flavour == "estimator" else "TensorFlow 1.4 to 2.3"
        need = oldest if option == "--old-python" else "TensorFlow 2.16 or later"
        raise UserError(f"{option} {python}: has {runtime.label}, and {need} is needed")
    return runtime


def trains_estimators(script: Path, program: Path | None) -> bool:
    """Whether a file of the program distributes an Estimator, and the script itself wraps no model."""
    folder = program or script.resolve().parent
    told = (file.read_bytes() for file in folder.rglob("*.py"))
    return b"multi_gpu_model" not in script.read_bytes() and any(b"train_distribute" in text for text in told)


def flavour_of(tree: ast.Module) -> str:
    """ "keras" for a script that imports standalone Keras, "tf.keras" for any other."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(alias.name.split(".")[0] == "keras" for alias in node.names):
            return "keras"
        if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == "keras":
            return "keras"
    return "tf.keras"


def replicas_written(tree: ast.Module) -> int | None:
    """The largest number of GPUs that a call of multi_gpu_model writes out, as a number or a list."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name == "multi_gpu_model":
                given = [k.value for k in node.keywords if k.arg == "gpus"] + node.args[1:2]
                found += [_count(value) for value in given]
    return max((n for n in found if n >= 2), default=None)


def _count(value: ast.expr) -> int:
    if isinstance(value, ast.List | ast.Tuple):
        return len(value.elts)
    return value.value if isinstance(value, ast.Constant) and type(value.value) is int else 0


# Running


class Lab:
    """Runs worlds and remembers every run by its role."""

    def __init__(self, plan: Plan, folder: Path, tell: Tell, execute: Execute) -> None:
        self.plan, self.folder, self.tell, self.execute = plan, folder, tell, execute
        self.runs: dict[str, Run] = {}
        self.remarks = list(plan.notes)
        self.count = 0

    @property
    def jobs(self) -> int:
        return self.plan.options.jobs or usual_jobs()

    def run(
        self, *worlds: World, start: Run | None = None, limits: Limits | None = None, jobs: int | None = None
    ) -> list[Run]:
        """Runs worlds that do not wait for one another, from the initial weights of `start`."""
        initial = start.trace if start else None
        done = self._run([(world, initial) for world in worlds], limits, jobs)
        self.runs.update({run.world.role: run for run in done})
        return done

    def lead(self, leader: World, *others: World) -> Run:
        """Runs `leader`, and the others beside it from its initial weights; when it fails, they are not remembered."""
        first, *rest = self._run([(leader, None), *((world, leader) for world in others)])
        self.runs.update({run.world.role: run for run in (first, *(rest if first.ok else ()))})
        return first

    def _run(
        self, worlds: Sequence[tuple[World, Initial]], limits: Limits | None = None, jobs: int | None = None
    ) -> list[Run]:
        if worlds:
            self.tell("running " + ", ".join(f"{w.role} ({w.runtime.label})" for w, _ in worlds))
        folders = [self.folder / f"{self.count + i} {_file_name(w.role)}" for i, (w, _) in enumerate(worlds)]
        self.count += len(folders)
        return self.execute(worlds, limits or self.plan.limits, folders, self.plan.options.jobs or jobs)

    def summaries(self) -> tuple[RunSummary, ...]:
        return tuple(
            summarize(role, _python(run), run.trace, run.seconds, "ok" if run.ok else cause.shorten(run.message))
            for role, run in self.runs.items()
        )

    def notes(self) -> tuple[str, ...]:
        """What the plan and the runs had to say, each remark once."""
        found: dict[str, str] = {}
        for role, run in self.runs.items():
            for note in () if role.startswith(CONTROL) else run.notes:
                found.setdefault(note, f"{role}: {note}")
        return (*self.remarks, *found.values())

    def keep(self, target: Path | None) -> None:
        """Copies what the runs printed and recorded, but for the weights, to where the user asked."""
        for run in self.runs.values() if target else ():
            assert target is not None
            kept = target / run.stdout_path.parent.name
            kept.mkdir(parents=True, exist_ok=True)
            for file in (run.stdout_path, run.stderr_path, run.trace.folder / "trace.jsonl"):
                if file.exists():
                    shutil.copy(file, kept / file.name)


def _python(run: Run) -> str:
    return "Python " + ".".join(map(str, run.world.runtime.version))


def _file_name(role: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", role).strip("-").lower()


# Judging


def _judge(lab: Lab) -> Report:
    plan = lab.plan
    if not plan.modern:
        reason = (
            "no interpreter with TensorFlow 2.16 or later was found; pip install 'tfmigrate[verify]', or --new-python"
        )
        return _report(lab, "COULD NOT RUN", reason)

    reference = reference_run(lab)
    if reference is None:
        return _report(lab, "COULD NOT RUN", why_none(lab))
    restored = [world for world in _all_restored(plan) if world.role != reference.world.role]
    shared = []
    if has_remainder(reference.trace):
        shared = [_sharing(reference.world)]
        restored = [_sharing(world) for world in restored]
    again = _again(reference.world)
    wanted = (again, *shared, *restored, *_all_migrated(plan))
    lab.run(*(world for world in wanted if world.role not in lab.runs), start=reference)
    repeated = lab.runs[again.role]

    own_noise = noise(reference.trace, repeated.trace) if repeated.ok else None
    if own_noise is None:
        lab.remarks.append(
            f"the old script's own noise was not measured, so the floor stands for it: {repeated.message}"
        )
    band = tolerance(own_noise or 0.0, len(reference.trace.steps))
    stopped = could_not_run(lab)
    if stopped is not None:
        return _report(lab, *stopped)
    start = reference
    reference, remainder = _without_remainder(lab, reference)
    pairs = _pairs(lab, start, reference, band)
    if remainder is not None:
        pairs = tuple(_knowing(remainder, pair) if pair.old == reference.world.role else pair for pair in pairs)
    pairs = _but_for_optimizers(lab, start, reference, pairs, band)
    apart = [pair for pair in pairs if pair.decides and not pair.equivalent]
    doubt = _doubt(reference, own_noise, band)
    if doubt and not any(pair.divergence and pair.divergence.kind != "unknown" for pair in apart):
        return _report(lab, "INCONCLUSIVE", doubt, pairs, noise=own_noise)
    if apart:
        return _report(lab, "DIFFERENT", _different(apart, pairs), pairs, noise=own_noise)
    results = _controls(lab, start, reference, pairs, band)
    verdict, reason = _conclude(pairs, results)
    return _report(lab, verdict, reason, pairs, results, own_noise)


SHARED = ", remainder shared evenly"


def has_remainder(trace: Trace) -> bool:
    """A batch of this old run could not be cut into equal parts, one a replica."""
    replicas = max((model.replicas for model in trace.models), default=1)
    return any(step.samples is not None and step.samples % replicas for step in trace.steps)


def _sharing(world: World) -> World:
    return replace(world, role=world.role + SHARED, shares_evenly=True)


def _without_remainder(lab: Lab, reference: Run) -> tuple[Run, KnownDifference | None]:
    """The old run in which remainder batches are shared as MirroredStrategy shares them, and what that alone changes;
    the old run as it was where there is no remainder, or where it could not be shared so."""
    run = lab.runs.get(reference.world.role + SHARED)
    if run is None or not run.ok or not all(step.shared_evenly for step in run.trace.steps):
        return reference, None
    pairs = [pair for pair in pair_steps(reference.trace, run.trace) if pair.uneven]
    first = pairs[0]
    what = (
        f"the batch at epoch {first.epoch}, step {first.step} does not divide by the replicas: multi_gpu_model takes "
        "the mean over its samples, MirroredStrategy the mean of the replicas' means. The old script ran once more "
        "with such batches shared as MirroredStrategy shares them, and the new one is compared with that run: the "
        "losses of all other steps, and the weights they all lead to. By this alone the old loss moves by up to"
    )
    return run, KnownDifference(REMAINDER, what, noise(reference.trace, run.trace))


def _knowing(known: KnownDifference, pair: Pair) -> Pair:
    if pair.comparison is None:
        return pair
    return replace(pair, comparison=replace(pair.comparison, known=(known, *pair.comparison.known)))


def _report(
    lab: Lab,
    verdict: Verdict,
    reason: str,
    pairs: tuple[Pair, ...] = (),
    results: tuple[ControlResult, ...] = (),
    noise: float | None = None,
) -> Report:
    changed = adjustments.made(run.trace for run in lab.runs.values())
    return Report(verdict, reason, lab.plan.title, lab.summaries(), pairs, results, noise, lab.notes(), changed)


def reference_run(lab: Lab) -> Run | None:
    """The run of the old script that everything is measured against: genuine where that works, else restored.

    Where there are processors for it, all that can be known to be wanted runs beside it."""
    plan = lab.plan
    candidates = [plan.world("genuine")] if plan.genuine is not None else []
    candidates += _all_restored(plan)
    for world in candidates:
        beside = (_again(world), *_all_restored(plan), *_all_migrated(plan)) if lab.jobs > 1 else ()
        run = lab.lead(world, *(other for other in beside if other.role not in (world.role, *lab.runs)))
        if run.ok:
            return run
    return None


def _all_restored(plan: Plan) -> list[World]:
    return [plan.world("restored", keras) for keras in plan.modern if plan.flavour != "estimator"]


def _all_migrated(plan: Plan) -> list[World]:
    return [plan.world("migrated", keras) for keras in plan.modern]


def _again(reference: World) -> World:
    """The same under another number of threads, which shows how much of a difference is noise."""
    threads = 1 if (os.cpu_count() or 1) > 1 else 2
    return replace(reference, role=f"{reference.role}, {threads} thread", threads=threads)


def why_none(lab: Lab) -> str:
    """Why the old script runs nowhere, the genuine run's words first."""
    told = [run.message for run in lab.runs.values()] or lab.plan.notes
    return "the old script could not be run. " + ". ".join(told)


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
        if run.outcome in ("timed out", "over a limit"):
            return "INCONCLUSIVE", run.message
    return None


def _pairs(lab: Lab, start: Run, reference: Run, band: float) -> tuple[Pair, ...]:
    """Each run of the new script against the reference and against the restored run; all began as `start` did."""
    is_genuine = reference.world.kind == "genuine"
    found = []
    for keras in lab.plan.modern:
        new = lab.runs[f"migrated on Keras {keras}"]
        restored = _restored(lab, keras)
        same_version = None
        if restored is not None:
            same_version = _pair(restored, new, band, decides=not is_genuine)
            same_version = _but_for_rounding(lab, start, same_version, restored, new)
            found.append(same_version)
        if is_genuine:
            pair = _pair(reference, new, band, decides=True, restored=restored)
            if same_version is not None and same_version.equivalent:
                pair = _but_for_drift(pair, reference, new)
            found.append(pair)
        elif same_version is None:
            found.append(_pair(reference, new, band, decides=True))
    return tuple(sorted(found, key=lambda pair: not pair.decides))


SEEN_LATE = (NEEDED["final weights"], "validation loss")


def _but_for_rounding(lab: Lab, start: Run, pair: Pair, old: Run, new: Run) -> Pair:
    """The pair with what rounding makes of it known by name and size.

    RMSprop and Adam take steps of one size, so that where a gradient is next to nothing, its last digits say which way
    a weight goes. The losses of the training hardly feel it, those of the validation may. Only where every loss of the
    training agrees, and by an experiment: the old script runs once more from weights moved by one unit in their last
    place; what it then ends with may be a tenth as far off.
    """
    comparison = pair.comparison
    if (
        pair.divergence is None
        or pair.divergence.kind not in DRIFTING
        or comparison is None
        or new.outcome == "crashed"
    ):
        return pair
    late = [row for row in comparison.broken if row.what.startswith(SEEN_LATE)]
    if not comparison.losses_agree or not late or len(late) < len(comparison.broken):
        return pair
    world = replace(old.world, role=old.world.role + NUDGED, nudged=True)
    run = lab.runs.get(world.role) or lab.run(world, start=start)[0]
    if not run.ok:
        return pair
    alone = compare(old.trace, run.trace, comparison.tolerance)
    sizes = [(distance(row), distance(other)) for row in late for other in alone.contract if other.what == row.what]
    if len(sizes) < len(late) or any(size > ROUNDING_SAFETY * own for size, own in sizes):
        return pair
    what = (
        "every loss of the training agrees; where a gradient is next to nothing, its last digits decide which way the "
        "optimizer moves a weight. Shown by a run: the old script from weights moved by one unit in their last place "
        "ends as far from itself. Relative difference of weights or validation losses"
    )
    known = KnownDifference(ROUNDING, what, max(size for size, _ in sizes))
    rows = tuple(replace(row, known=ROUNDING) if row in late else row for row in comparison.contract)
    return replace(
        pair, comparison=replace(comparison, contract=rows, known=(*comparison.known, known)), divergence=None
    )


ROUNDING_SAFETY = 10.0
"""As for losses (see `align.SAFETY`): one nudge at the start stands for rounding at each step."""


def distance(row: Row) -> float:
    """How far the two figures of a row of the contract lie apart: weights are given as their distance, losses each."""
    if row.what == "validation loss":
        both = isinstance(row.old, float) and isinstance(row.new, float)
        return relative_difference(row.old, row.new) if both else math.inf
    return float(row.new)


def _restored(lab: Lab, keras: int) -> Run | None:
    """The old script restored on this Keras; where it does not run there, on the other one."""
    for version in (keras, *lab.plan.modern):
        for role in (f"restored on Keras {version}{SHARED}", f"restored on Keras {version}"):
            run = lab.runs.get(role)
            if run is not None and run.ok:
                return run
    return None


def _but_for_drift(pair: Pair, genuine: Run, new: Run) -> Pair:
    """The pair with what its versions' arithmetic makes of it known by name. Only for a new script that agrees, within
    the narrow band, with the old one restored on the same TensorFlow: then the migration itself is exact."""
    if pair.divergence is None or pair.divergence.kind not in DRIFTING:
        return pair
    comparison = compare(genuine.trace, new.trace, DRIFT_BAND)
    # Adam and RMSprop move a weight without gradient by rounding noise, so weights drift far where losses hardly do;
    # that the final weights are right, the restored run has shown.
    drifted = tuple(row for row in comparison.broken if row.what.startswith(NEEDED["final weights"]))
    if not comparison.losses_agree or len(drifted) != len(comparison.broken):
        return pair
    rows = tuple(replace(row, known=DRIFT) if row in drifted else row for row in comparison.contract)
    adam = any("adam" in compiled.optimizer.lower() for compiled in new.trace.compiles)
    what = (
        "the script restored on today's TensorFlow agrees with the new one, on its own TensorFlow it drifts away slowly"
    )
    what += "; Adam's steps are 6.4e-6 longer there, where 1 - beta_2 is rounded" if adam else ""
    for changed in dict.fromkeys(
        (optimizer_name(a), formula(a, b)) for a, b in pair_compiles(genuine.trace, new.trace)
    ):
        what += f"; {changed[0]}{changed[1]}" if changed[1] else ""
    of = "difference of the predictions" if comparison.predictions else "loss difference"
    drift = KnownDifference(DRIFT, f"{what}. Relative {of}", comparison.max_relative_difference)
    drifting = replace(comparison, contract=rows, known=(*comparison.known, drift))
    return replace(pair, comparison=drifting, divergence=None)


def _drifts(pair: Pair) -> bool:
    return pair.comparison is not None and any(known.name in (DRIFT, FORMULA) for known in pair.comparison.known)


def _but_for_optimizers(lab: Lab, start: Run, genuine: Run, pairs: tuple[Pair, ...], band: float) -> tuple[Pair, ...]:
    """The pairs with what the optimizers of another Keras make of the training known by name, and its size.

    Not by the optimizer's name, but by an experiment, made only where a new script trains as the restored one does and
    not as the genuine one: the old script runs restored once more, on Keras 2 with the optimizers of its time, which
    that package still has. If it then trains as the genuine run did, the optimizers alone make the difference.
    """
    if genuine.world.kind != "genuine":
        return pairs
    doubtful = [pair for pair in pairs if pair.decides and pair.divergence]
    agree = {pair.new for pair in pairs if not pair.decides and pair.equivalent}
    today = _restored(lab, 2) if 2 in lab.plan.modern else None
    if today is None or not today.world.legacy_keras or not any(pair.new in agree for pair in doubtful):
        return pairs
    world = lab.plan.world("restored", 2)
    world = replace(world, role=world.role + OLD_OPTIMIZERS, old_optimizers=True)
    (run,) = lab.run(_sharing(world) if genuine.world.shares_evenly else world, start=start)
    shown = run.ok and _but_for_drift(_pair(genuine, run, band, decides=False), genuine, run).divergence is None
    if not shown:
        return pairs
    return tuple(
        _of_optimizer(pair, genuine, lab.runs[pair.new])
        if pair in doubtful and pair.new in agree and _same_but_for_optimizers(lab, today, pair.new, band)
        else pair
        for pair in pairs
    )


def _same_but_for_optimizers(lab: Lab, today: Run, new: str, band: float) -> bool:
    """Whether what was shown on Keras 2 holds for the Keras of this run: restored on both, the old script trains the
    same, or parts at a step of an optimizer that these two write differently."""
    restored = _restored(lab, 2 if lab.runs[new].world.legacy_keras else 3)
    if restored is None or restored is today:
        return restored is today
    _, divergence = _outcome(today, restored, band)
    names = {optimizer_name(compiled) for compiled in restored.trace.compiles}
    return divergence is None or (divergence.kind in DRIFTING and bool(names & WRITTEN_ANEW))


def _of_optimizer(pair: Pair, genuine: Run, new: Run) -> Pair:
    assert pair.comparison is not None
    told = dict.fromkeys(
        f"{describe(a)} of TensorFlow {genuine.trace.start.tensorflow if genuine.trace.start else '?'} and "
        f"{describe(b)} of today's take other steps{formula(a, b)}"
        for a, b in pair_compiles(genuine.trace, new.trace)
    )
    what = (
        f"{'; '.join(told)}. Shown by a run: restored on today's TensorFlow with the optimizers of its time, the old "
        "script trains as it did; with today's, as the new one does. So the versions of Keras make the difference, not "
        "the migration; whether today's optimizer will do is for you to say. Relative loss difference"
    )
    known = KnownDifference(FORMULA, what, pair.comparison.max_relative_difference)
    rows = tuple(replace(row, known=FORMULA) if row.broken else row for row in pair.comparison.contract)
    comparison = replace(pair.comparison, contract=rows, known=(*pair.comparison.known, known), excused=FORMULA)
    return replace(pair, comparison=comparison, divergence=None)


def _pair(old: Run, new: Run, band: float, *, decides: bool, restored: Run | None = None) -> Pair:
    comparison, divergence = _outcome(old, new, band, restored)
    return Pair(old.world.role, new.world.role, comparison, divergence, decides)


def _outcome(
    old: Run, new: Run, band: float, restored: Run | None = None
) -> tuple[Comparison | None, Divergence | None]:
    """Compares two runs. Where the old one's Keras logged another validation loss than today's does, `restored`, the
    old script on the new one's Keras, stands in for its validation."""
    comparison = compare(old.trace, new.trace, band)
    if new.outcome == "crashed":
        error = new.trace.end.error if new.trace.end and new.trace.end.error else new.message
        found = cause.of_crash(old.trace, new.trace, comparison, error)
        return (None if found.kind in ("crash", "scope") else comparison), found
    divergence = cause.find(old.trace, new.trace, comparison)
    if (
        divergence is None
        and restored is not None
        and restored.ok
        and _validation_known(comparison) in OTHER_VALIDATION
    ):
        divergence = cause.of_validation(restored.trace, new.trace, compare(restored.trace, new.trace, band))
    return comparison, divergence


def _validation_known(comparison: Comparison) -> str | None:
    """The known difference that keeps the validation losses from being judged, if one does."""
    return next((row.known for row in comparison.contract if row.what == "validation loss"), None)


def _different(apart: list[Pair], pairs: tuple[Pair, ...]) -> str:
    first = apart[0]
    assert first.divergence is not None
    where = first.new if len(apart) < len([p for p in pairs if p.decides]) else "the migrated script"
    does = "predicts" if first.comparison and first.comparison.predictions else "trains"
    otherwise = "does not run to its end" if first.divergence.kind == "crash" else f"{does} otherwise"
    reason = f"{where} {otherwise}: {first.divergence.cause}"
    restored = [pair for pair in pairs if not pair.decides]
    if restored and all(pair.equivalent for pair in restored):
        reason += (
            "; restored on today's TensorFlow the old script agrees with it, so the versions differ, not the scripts"
        )
    return reason


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


def _controls(lab: Lab, start: Run, reference: Run, pairs: tuple[Pair, ...], band: float) -> tuple[ControlResult, ...]:
    """Runs one epoch of every mistake that can be made in the new script, on Keras 3 where there is one.

    They are held to the narrow band, and so measured against the restored run where the genuine one drifts.
    """
    keras: Keras = 3 if 3 in lab.plan.modern else 2
    right = lab.plan.world("migrated", keras)
    program = controls.program_of(right.source, right.script)
    estimators = lab.plan.flavour == "estimator"
    chosen = controls.controls_of(predicts=bool(reference.trace.predictions), estimators=estimators)
    made = list(controls.mutants(program, right.script, replicas_of(reference), keras, chosen))
    worlds = [replace(right, role=f"{CONTROL}{m.mutation}", overlay=m.files) for m in made]
    short = bool(reference.trace.steps) and reference.trace.steps[0].epoch == 0
    limits = replace(lab.plan.limits, epochs=1) if short else lab.plan.limits
    old, restored = reference, _restored(lab, keras)
    if restored is not None and any(_drifts(pair) for pair in pairs if pair.new == right.role):
        old = restored
    if short:
        old = replace(old, trace=through_epoch(old.trace, 1))
        restored = restored and replace(restored, trace=through_epoch(restored.trace, 1))
    # Nobody reads their speed, so they share the cores; a GPU is not shared.
    jobs = os.cpu_count() if "CPU" in _device_kind(lab.runs[right.role]) else 1
    results = []
    for mutant, run in zip(made, lab.run(*worlds, start=start, limits=limits, jobs=jobs), strict=True):
        new = replace(run, trace=through_epoch(run.trace, 1)) if short else run
        comparison, divergence = _outcome(old, new, band, restored)
        if (
            divergence is None
            and mutant.may_do_nothing
            and same_run(lab.runs[right.role].trace, run.trace, 1 if short else None)
        ):
            lab.remarks.append(f"control {mutant.mutation}: does nothing here, its run equals the right one throughout")
            continue
        if divergence is None and comparison and mutant.expected == {"validation"} and _validation_known(comparison):
            lab.remarks.append(f"validation losses could not be judged: {_validation_known(comparison)}")
            continue
        # A mutant that dies of anything but the mistake made in it was not told apart, it just did not run.
        detected = divergence is not None and (divergence.kind != "crash" or "crash" in mutant.expected)
        steps = comparison.common if comparison else ()
        size = comparison.max_relative_difference if comparison and steps else None
        if comparison and comparison.predictions and size == math.inf:
            size = None  # arrays of other shapes have none
        found, kind = (divergence.cause, divergence.kind) if divergence else ("not told apart", None)
        results.append(ControlResult(mutant.mutation, size, detected, found, kind, steps))
    return tuple(results)


def replicas_of(run: Run) -> int:
    return max((model.replicas for model in run.trace.models), default=1)


def _device_kind(run: Run) -> str:
    return run.trace.start.device_kind if run.trace.start else ""


def _conclude(pairs: tuple[Pair, ...], results: tuple[ControlResult, ...]) -> tuple[Verdict, str]:
    missed = [result.mutation for result in results if not result.detected]
    if missed:
        return "INCONCLUSIVE", f"the runs agree, but so does a wrong migration: {', '.join(missed)}"
    if len(results) < ENOUGH_CONTROLS:
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
        what = f"over {len(deciding[0].judged_steps)} steps the training losses"
    reason = (
        f"{what} differ by {size:.2g} at most (tolerance {deciding[0].tolerance:.2g}); "
        f"{len(results)} wrong migrations were all told apart"
    )
    apart = max((comparison.max_relative_difference for comparison in counted if comparison.excused), default=0.0)
    if apart:
        reason += (
            f"; from those of the old TensorFlow they part by up to {apart:.2g}, for which the optimizers of today's "
            "Keras alone were shown to be the cause"
        )
    known = {difference.name for comparison in counted for difference in comparison.known}
    if known:
        reason += f"; known differences of the two systems, listed apart: {', '.join(sorted(known))}"
    return "EQUIVALENT", reason
