"""A run that another machine can do: all that it reads, packed, and what became of it, packed again.

Both machines have the same version of tfmigrate. The other one's interpreter is found there by its TensorFlow and
Keras, or made there by the recipe it is known under.
"""

from __future__ import annotations

import atexit
import io
import pickle
import socket
import tarfile
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from tfmigrate import __version__
from tfmigrate.errors import UserError
from tfmigrate.verify.run import experiment, runtimes
from tfmigrate.verify.run.runtimes import CannotMake, Runtime
from tfmigrate.verify.run.scratch import copy_program
from tfmigrate.verify.run.servers import Servers
from tfmigrate.verify.run.together import Together
from tfmigrate.verify.run.trace import Trace
from tfmigrate.verify.run.world import Limits, Run, World

PROGRAM, SETUP, STUBS, PACKAGES, INITIAL = "program", "setup", "stubs", "packages", "initial"
"""Folders in the packed files."""


@dataclass(frozen=True)
class Job:
    """A world, with the files it needs as a tar archive. Its paths are those of the machine that packed it."""

    world: World
    limits: Limits
    files: bytes
    has_initial: bool
    """The initial weights are among the files."""


@dataclass(frozen=True)
class Result:
    """What became of a job. `files`: the run's folder as a tar archive, which `folder` was the path of."""

    run: Run
    folder: Path
    files: bytes
    machine: str


@dataclass(frozen=True)
class Refused:
    """The machine could not do it; `message` is for the user."""

    message: str


def pack(world: World, limits: Limits, initial: Trace | None) -> tuple[bytes, tuple[str, ...]]:
    """The job as bytes, and notes about files that were left out. Overlays are written into the packed program."""
    with tempfile.TemporaryDirectory(prefix="tfmigrate-job-") as scratch:
        program = Path(scratch) / PROGRAM
        notes = copy_program(world.source, program, limits.largest_copied_file)
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            tar.add(program, PROGRAM)
            if world.setup is not None:
                tar.add(world.setup, f"{SETUP}/{world.setup.name}")
            for module, path in world.stubs.items():
                tar.add(path, f"{STUBS}/{module}/{path.name}")
            if world.packages is not None:
                tar.add(world.packages, PACKAGES)
            if initial is not None:
                tar.add(initial.folder, INITIAL)
    job = Job(world, limits, archive.getvalue(), initial is not None)
    return pickle.dumps((__version__, pickle.dumps(job))), tuple(notes)


def do(packed: bytes) -> bytes:
    """Does a job on this machine, and packs the Result, or why it is Refused: another version of tfmigrate, no
    interpreter like the one asked for. Ctrl-C ends the run before it is raised on."""
    version, inner = pickle.loads(packed)
    if version != __version__:
        return pickle.dumps(
            Refused(
                f"{socket.gethostname()} has tfmigrate {__version__}, and the run was sent by {version}; install the "
                "same version on all machines"
            )
        )
    try:
        return pickle.dumps(_do(pickle.loads(inner)))
    except UserError as error:
        return pickle.dumps(Refused(f"on {socket.gethostname()}: {error}"))


def _do(job: Job) -> Result:
    with tempfile.TemporaryDirectory(prefix="tfmigrate-node-") as scratch:
        here = Path(scratch).resolve()
        with tarfile.open(fileobj=io.BytesIO(job.files)) as tar:
            tar.extractall(here, filter="fully_trusted")
        world = _placed(job.world, here)
        folder = here / "run"
        limits = _no_more_than_here(job.limits)
        initial = Trace(here / INITIAL) if job.has_initial else None
        with Together(limits) as together:
            run = experiment.run(world, limits, folder, initial, threading.Event(), None, _servers().launch, together)
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            tar.add(folder, ".")
    return Result(run, folder, archive.getvalue(), socket.gethostname())


@cache
def _servers() -> Servers:
    """Those of this process, which does one job after the other where Ray has it: TensorFlow is imported once."""
    servers = Servers()
    atexit.register(servers.close)
    return servers


def unpack(packed: bytes, world: World, folder: Path) -> tuple[Run, str]:
    """The run, with its files in `folder`, and the machine it was done on. Raises UserError where that refused it."""
    result: Result | Refused = pickle.loads(packed)
    if isinstance(result, Refused):
        raise UserError(result.message)
    with tarfile.open(fileobj=io.BytesIO(result.files)) as tar:
        tar.extractall(folder, filter="data")
    return _moved(result.run, world, result.folder, folder), result.machine


def _moved(run: Run, world: World, before: Path, now: Path) -> Run:
    def at(path: Path) -> Path:
        return now / path.relative_to(before)

    return replace(
        run,
        world=world,
        trace=replace(run.trace, folder=at(run.trace.folder)),
        stdout_path=at(run.stdout_path),
        stderr_path=at(run.stderr_path),
        workers=tuple(_moved(worker, world, before, now) for worker in run.workers),
    )


def _placed(world: World, here: Path) -> World:
    stubs = {module: here / STUBS / module / path.name for module, path in world.stubs.items()}
    return replace(
        world,
        runtime=_runtime_like(world.runtime),
        source=here / PROGRAM,
        setup=here / SETUP / world.setup.name if world.setup else None,
        stubs=stubs,
        packages=here / PACKAGES if world.packages else None,
    )


def _runtime_like(wanted: Runtime) -> Runtime:
    """The interpreter of this machine with the same TensorFlow and Keras: the very path where that fits, one that is
    found, one that is made."""

    def fits(candidate: Runtime | None) -> bool:
        return candidate is not None and (candidate.tensorflow, candidate.keras, candidate.tf_keras) == versions

    versions = wanted.tensorflow, wanted.keras, wanted.tf_keras
    same = runtimes.inspect(wanted.python, wanted.origin) if wanted.python.exists() else None
    if same is not None and fits(same):
        return same
    for runtime in runtimes.discover():
        if fits(runtime):
            return runtime
    reason = "no interpreter with it was found"
    for name in _recipes(wanted):
        try:
            built = runtimes.make(name)
        except CannotMake as error:
            reason = str(error)
        else:
            if fits(built):
                return built
    raise UserError(f"{wanted.label} is not available: {reason}; see `tfmigrate runtimes`")


def _recipes(wanted: Runtime) -> Sequence[str]:
    return [name for name in runtimes.RECIPES if f"/{name}/" in wanted.python.as_posix()]


def _no_more_than_here(limits: Limits) -> Limits:
    """Nobody asked this machine before, which may be smaller than the one that asks."""
    own = Limits()
    return replace(
        limits,
        memory_bytes=min(limits.memory_bytes, own.memory_bytes),
        disk_bytes=min(limits.disk_bytes, own.disk_bytes),
    )
