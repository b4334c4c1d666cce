"""What is to be verified, and the worlds that it takes."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from tfmigrate.errors import UserError
from tfmigrate.files import regular
from tfmigrate.old_keras import LAST_WITH_MULTI_GPU_MODEL
from tfmigrate.verify.judge.asks import flavour_of, replicas_written, trains_estimators
from tfmigrate.verify.judge.depth import PATIENCE, Depth, budget_of
from tfmigrate.verify.run import devices, runtimes, sandbox
from tfmigrate.verify.run.program import program_of, tree_of
from tfmigrate.verify.run.runtimes import Runtime
from tfmigrate.verify.run.sandbox import Asked
from tfmigrate.verify.run.world import Limits, World

DEFAULT_REPLICAS = 4
NO_WORKERS = (
    "Keras 3 was left out: its fit does not run under MultiWorkerMirroredStrategy (3.15.1: ValueError, Attempt to "
    "convert a value (PerReplica...) with an unsupported type); Keras 2 does (TF_USE_LEGACY_KERAS=1)"
)
SHARED = ", remainder split evenly"
NUDGED = ", weights nudged"
OLD_OPTIMIZERS = ", optimizers of its time"
WHOLE = ", batches not split"
Keras = Literal[2, 3]


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
    """The folder that holds the whole program of OLD, and of NEW where that lies in it too; by default each script's
    own."""
    new_program: Path | None = None
    """That of NEW where it is another."""
    start: Path | None = None
    """The folder in `program` in which both scripts are started; by default `program` itself."""
    as_modules: bool = False
    """Run both with `python -m`, by the names that their places below `start` give them."""
    setup: Path | None = None
    """A Python file that makes stand-in data in each run's copy before the script starts."""
    stubs: Mapping[str, Path] = field(default_factory=dict)
    """Files and folders that stand in for modules, by the module's name."""
    written_for: str | None = None
    """"keras==2.2.4, tensorflow==1.13.1": which old runtime to prefer."""
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
    memory: int | None = None
    """Bytes of all runs that go on at a time; so are `disk` and `processes`. By default those of `Limits`."""
    disk: int | None = None
    processes: int | None = None
    sandbox: Asked = "auto"
    epochs: int | None = None
    """Train at most this many epochs."""
    steps: int | None = None
    """Train at most this many steps per epoch."""
    depth: Depth = "thorough"
    """How much is trained and how many controls are run; see `depth`."""
    budget: int | None = None
    """Training steps of each run, instead of those of the depth."""
    packages: bool = True
    """Packages that the old script imports and its old runtime lacks are put on its path."""
    require_genuine: bool = False
    """Without a run on a TensorFlow of its time nothing is called EQUIVALENT."""
    subset: int | None = None
    """Train on so many samples an epoch at most, in whole batches."""
    synthetic_data: bool = False
    """Answer keras.datasets.*.load_data() with made-up data of the right shape."""
    kerases: tuple[Keras, ...] = (3, 2)
    """Run the new script on these."""
    environment: Mapping[str, str] = field(default_factory=dict)
    jobs: int | None = None
    """Runs side by side; by default as many as `usual_jobs`, and one for each where nobody reads their speed."""
    with_todays_names: Callable[[], Mapping[str, str]] | None = None
    """The files of the old program that change where names and arguments of old Keras are written as today's: path in
    it to text. Asked for where the old script, restored, dies of them; see `todays_names`."""
    keep: Path | None = None
    """Folder that receives each run's stdout, stderr and trace."""
    version: str = ""
    """Of tfmigrate, for the report, like the next two."""
    command: tuple[str, ...] = ()
    time_limit: float | None = None


@dataclass(frozen=True)
class Plan:
    """The options with every question answered."""

    options: VerifyOptions
    flavour: str
    replicas: int
    genuine: Runtime | None
    modern: Mapping[Keras, Runtime]
    notes: tuple[str, ...]
    doubles: bool = False
    """All runs compute in float64."""
    deterministic: bool = True
    """See World."""
    patience: float | None = None
    """See Limits, and `exactly` too, which takes its place once the number of steps is settled."""
    exactly: int | None = None

    @property
    def title(self) -> str:
        return f"{self.options.old} -> {self.options.new}"

    @property
    def limits(self) -> Limits:
        o = self.options
        budget = budget_of(o.depth, o.budget)
        asked = {"memory_bytes": o.memory, "disk_bytes": o.disk, "processes": o.processes}
        return Limits(
            seconds=o.seconds,
            epochs=o.epochs,
            steps_per_epoch=o.steps,
            samples=o.subset,
            budget=budget,
            patience=self.patience,
            exactly=self.exactly,
            gradient=o.depth != "smoke",  # which judges the loss of the first step, and nothing after it
            sandbox=o.sandbox,
            **{name: value for name, value in asked.items() if value is not None},
        )

    @classmethod
    def of(cls, options: VerifyOptions) -> Plan:
        """Raises UserError for options that name what is not there, or do not go together."""
        _check(options)
        tree = _program(options)
        _parse(options.new)
        flavour = "estimator" if trains_estimators(options.old, options.program) else flavour_of(tree)
        discovered = runtimes.discover() if options.old_python is None or options.new_python is None else ()
        genuine = _chosen(options.old_python, "--old-python", flavour) or runtimes.genuine_for(
            flavour, discovered, ast.unparse(tree), options.written_for
        )
        notes = [*_of_genuine(genuine, flavour, options)]
        chosen = _chosen(options.new_python, "--new-python", flavour)
        modern: dict[Keras, Runtime] = {}
        for keras in options.kerases:
            runtime = runtimes.modern((chosen,) if chosen else discovered, keras)
            if runtime is not None:
                modern[keras] = runtime
            else:
                package = "tensorflow>=2.16" if keras == 3 else "tf-keras"
                notes.append(f"Keras {keras} was left out: no interpreter has it (pip install '{package}')")
        replicas = _replicas(options, tree)
        if options.workers > 1 and 3 in modern:
            del modern[3]
            notes.append(NO_WORKERS)
        hurries = options.depth == "default" and options.budget is None
        patience = PATIENCE if hurries and options.workers == 1 and flavour != "estimator" else None
        return cls(options, flavour, replicas, genuine, modern, tuple(notes), patience=patience)

    def place_of(self, script: Path) -> tuple[Path, str, Path]:
        """(the folder that is copied for the old or the new script, its path there, where its imports begin)."""
        o = self.options
        program = o.new_program if script == o.new and o.new_program else o.program
        source = root_of(script.resolve(), program)
        name = script.resolve().relative_to(source).as_posix()
        start = o.start.resolve().relative_to(o.program.resolve()) if o.program and o.start else Path()
        return source, name, source / start if o.as_modules else (source / name).parent

    @property
    def defaults_of(self) -> tuple[int, int]:
        """The version of keras or tensorflow that the old script takes its defaults from: that of its project's pins,
        as the migration does, else that of the genuine run."""
        standalone = self.flavour == "keras"
        if version := runtimes.pinned("keras" if standalone else "tensorflow", self.options.written_for):
            return version
        if self.genuine is None:
            return LAST_WITH_MULTI_GPU_MODEL
        return self.genuine.keras_version if standalone else self.genuine.tensorflow_version

    def world(self, kind: Literal["genuine", "restored", "migrated"], keras: Keras | None = None) -> World:
        """Raises KeyError when no runtime serves it."""
        o = self.options
        script = (o.new if kind == "migrated" else o.old).resolve()
        source = root_of(script, o.new_program if kind == "migrated" and o.new_program else o.program)
        start = ""
        if o.program is not None and o.start is not None:
            start = o.start.resolve().relative_to(o.program.resolve()).as_posix()
        runtime = self.genuine if keras is None else self.modern[keras]
        if runtime is None:
            raise KeyError(kind)
        return World(
            role=kind if keras is None else f"{kind} on Keras {keras}",
            kind=kind,
            runtime=runtime,
            source=source,
            script=script.relative_to(source).as_posix(),
            start="" if start == "." else start,
            module=module_name(script, source / start) if o.as_modules else "",
            setup=o.setup.resolve() if o.setup else None,
            stubs={module: path.resolve() for module, path in o.stubs.items()},
            args=o.args,
            replicas=self.replicas,
            legacy_keras=keras == 2,
            synthetic_data=o.synthetic_data,
            workers=o.workers if kind == "migrated" else 1,
            standalone=self.flavour == "keras",
            defaults_of=self.defaults_of,
            doubles=self.doubles,
            deterministic=self.deterministic,
            environment=o.environment,
        )


def root_of(script: Path, program: Path | None) -> Path:
    """The folder that is copied for a script: that of its program where it lies in it, else its own."""
    return program.resolve() if program is not None and script.is_relative_to(program.resolve()) else script.parent


def module_name(file: Path, home: Path) -> str:
    """The name under which `python -m`, started in `home`, runs a file; raises UserError where it has none there."""
    if not file.is_relative_to(home):
        raise UserError(f"{file} is not below {home}, so `python -m` cannot run it from there; see --cwd")
    parts = file.relative_to(home).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__main__" else parts)


def all_restored(plan: Plan) -> list[World]:
    return [plan.world("restored", keras) for keras in plan.modern if plan.flavour != "estimator"]


def all_migrated(plan: Plan) -> list[World]:
    return [plan.world("migrated", keras) for keras in plan.modern]


def again(reference: World) -> World:
    """The same under another number of threads, which shows how much of a difference is noise."""
    threads = 1 if (os.cpu_count() or 1) > 1 else 2
    return replace(reference, role=f"{reference.role}, {threads} thread", threads=threads)


def sharing(world: World) -> World:
    return replace(world, role=world.role + SHARED, shares_evenly=True)


def _parse(path: Path) -> ast.Module:
    try:
        return ast.parse(regular.read(path), str(path))
    except (SyntaxError, ValueError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        message = error.msg if isinstance(error, SyntaxError) else str(error)
        raise UserError(f"{path}{line}: does not parse as Python 3 ({message}), so it cannot be run") from None


def _check(options: VerifyOptions) -> None:
    """Raises UserError for what is not there."""
    for path in (options.old, options.new):
        regular.require(path, regular.LARGEST)
    for inside in (options.old, options.start):
        if options.program and inside and not inside.resolve().is_relative_to(options.program.resolve()):
            raise UserError(f"{inside} is not in {options.program}, the folder given for the program")
    if options.setup is not None and not options.setup.is_file():
        raise UserError(f"--setup {options.setup}: no such file")
    for module, path in options.stubs.items():
        if not path.exists():
            raise UserError(f"--stub {module}={path}: no such file")
    if options.replicas is not None and options.replicas < 2:
        raise UserError(f"--replicas {options.replicas}: multi_gpu_model needs at least two")
    if options.sandbox != "auto":
        sandbox.choose(options.sandbox)


def _of_genuine(genuine: Runtime | None, flavour: str, options: VerifyOptions) -> Iterator[str]:
    """What is said of the old TensorFlow, where it is missing or not the one that the program is written for."""
    if genuine is None:
        recipe = runtimes.recipe_for(flavour, options.written_for)
        if flavour == "estimator":
            missing = "no TensorFlow 1.14 to 2.15 was found, and no other has tf.estimator"
        else:
            missing = (
                f"no old TensorFlow was found for a {flavour} script, so the old script only ran with "
                "multi_gpu_model restored on today's"
            )
        yield f"{missing}; `tfmigrate runtimes --make {recipe}` builds a genuine one"
    keras = runtimes.pinned("keras", options.written_for)
    if genuine is not None and flavour == "keras" and keras and genuine.keras_version != keras:
        recipe = runtimes.recipe_for(flavour, options.written_for)
        nearer = f"; `tfmigrate runtimes --make {recipe}` builds a nearer one" if recipe != "tf1.15" else ""
        wanted = ".".join(map(str, keras))
        yield f"the program is written for Keras {wanted}, and ran genuinely on {genuine.keras}{nearer}"


def _replicas(options: VerifyOptions, tree: ast.Module) -> int:
    """How many replicas train. Raises UserError where the workers cannot have as many."""
    several = options.workers > 1
    replicas = options.replicas or replicas_written(tree) or (options.workers if several else DEFAULT_REPLICAS)
    if replicas % options.workers:
        raise UserError(f"--workers {options.workers}: {replicas} replicas cannot be divided among them")
    if several and replicas != options.workers and devices.visible() < replicas:
        raise UserError(
            f"--workers {options.workers}: with fewer GPUs than replicas each worker has one replica, on the CPU, "
            f"but {options.old} trains on {replicas}; use --workers {replicas}"
        )
    return replicas


def _program(options: VerifyOptions) -> ast.Module:
    """The old script with the modules of its program that it imports, as one."""
    whole = _parse(options.old)
    script = options.old.resolve()
    folder = options.program.resolve() if options.program is not None else script.parent
    name = script.relative_to(folder).as_posix()
    home = (options.start or folder).resolve() if options.as_modules else None
    for other, source in program_of(folder, name, home).items():
        if other != name:
            whole.body += tree_of(source).body
    return whole


def _chosen(python: Path | None, option: str, flavour: str) -> Runtime | None:
    if python is None:
        return None
    runtime = runtimes.inspect(python, option)
    if runtime is None:
        raise UserError(f"{option} {python}: not a working Python 3 interpreter")
    old = {"genuine estimator"} if flavour == "estimator" else {"genuine keras", "genuine tf.keras"}
    wanted = old if option == "--old-python" else {"keras 2", "keras 3"}
    if not wanted & set(runtime.kinds):
        oldest = "TensorFlow 1.14 to 2.15" if flavour == "estimator" else "TensorFlow 1.4 to 2.3"
        need = oldest if option == "--old-python" else "TensorFlow 2.16 or later"
        raise UserError(f"{option} {python}: has {runtime.label}, and {need} is needed")
    return runtime
