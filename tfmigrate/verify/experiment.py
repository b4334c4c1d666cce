"""Runs training scripts in child processes, each in its own world: an interpreter, a copy of the program, devices.

The user's files are read and never written: the program's folder is copied to a scratch folder that goes when the run
ends. What stays is the trace, the script's output, and what was made of them here. On Linux the kernel keeps the
script from writing elsewhere (see probe/confine.py); where it cannot, the run's notes say so. Not prevented: what a
script does over the network, and a process that gave itself a session and an environment of its own outliving the run.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Literal, Protocol

import psutil

from tfmigrate.verify import devices
from tfmigrate.verify import trace as traces
from tfmigrate.verify.runtimes import KERAS_2, Runtime
from tfmigrate.verify.trace import Trace

Kind = Literal["genuine", "restored", "migrated"]
Outcome = Literal["trained", "predicted", "crashed", "timed out", "over a limit", "trained nothing", "missing runtime"]

Watch = Callable[[str, float], None]
"""Told each step that a run takes: the run's role, and the loss."""

PROBE = Path(__file__).parent / "probe" / "run.py"
RUNNING = "running"
"""In a trace's folder while its run goes on: the probe of another run waits for what is not written yet."""
SKIPPED = frozenset([".git", ".hg", ".svn", "node_modules", "__pycache__", ".tox", ".mypy_cache", ".ruff_cache"])
POLL_SECONDS = 0.1
LOOK_SECONDS = 0.5
MARK = "TFMIGRATE_RUN"
"""Set for each run to a value of its own, so that what the script starts is known even when it leaves the session."""
GRACE_SECONDS = 5.0
LEAST_MEMORY = 1 << 29
"""Bytes that a run is expected to take at least."""
SEED = 20200401

OLD_KERAS_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "Adadelta": {"learning_rate": 1.0},
    "Adagrad": {"learning_rate": 0.01, "initial_accumulator_value": 0.0},
    "Adamax": {"learning_rate": 0.002},
    "Nadam": {"learning_rate": 0.002},
    "GRU": {"reset_after": False},
}
"""Standalone Keras 2.3.1, as its constructors have them (keras/optimizers.py, keras/layers/recurrent.py). Those of
tf.keras are today's. What epsilon is where it stands now, the probe knows."""


@dataclass(frozen=True)
class Limits:
    """What a run may use. `epochs` and `steps_per_epoch` shorten the training itself; None leaves it as written."""

    seconds: float = 900.0
    disk_bytes: int = 4 << 30
    output_bytes: int = 8 << 20
    """Of stdout and of stderr so much is kept; the rest is read and dropped."""
    memory_bytes: int = field(default_factory=lambda: psutil.virtual_memory().total * 4 // 5)
    """Resident, of all the script's processes."""
    processes: int = 512
    largest_copied_file: int = 1 << 30
    epochs: int | None = None
    steps_per_epoch: int | None = None
    samples: int | None = None
    """Of each training call's data so many samples an epoch at most, in whole batches."""


@dataclass(frozen=True)
class World:
    """A script and where it runs. `role` names it in the report; `kind` says what the probe makes of the world."""

    role: str
    kind: Kind
    runtime: Runtime
    source: Path
    """The program's folder; copied whole."""
    script: str
    """Relative to `source`, and run from there."""
    args: tuple[str, ...] = ()
    replicas: int = 4
    legacy_keras: bool = False
    """Keras 2 (tf_keras) in the place of Keras 3."""
    synthetic_data: bool = False
    threads: int | None = None
    aligned: bool = True
    """What is random is neutralised, so that runs can be compared step by step; else all of it follows from `seed`."""
    seed: int = SEED
    shares_evenly: bool = False
    """An old script's batch that does not divide is shared among the replicas as MirroredStrategy shares it."""
    old_optimizers: bool = False
    """Restored on Keras 2: its optimizers are those of TensorFlow 2.10, whose arithmetic is that of 1.15 and 2.3."""
    nudged: bool = False
    """It starts from the other run's weights moved by one unit in their last place, which shows what rounding does."""
    standalone: bool = False
    """The script trains with standalone Keras, whose defaults were not tf.keras's."""
    environment: Mapping[str, str] = field(default_factory=dict)
    workers: int = 1
    """Processes that train together over loopback, each told by TF_CONFIG which it is; the replicas are shared out."""
    overlay: Mapping[str, str] = field(default_factory=dict)
    """Files written into the copy, relative path to text: a wrong migration to be told apart, say."""


@dataclass(frozen=True)
class Run:
    """What became of a world. `message` is for the user: empty when the script ran to its end and trained, or predicted
    where it trains nothing."""

    world: World
    trace: Trace
    outcome: Outcome
    exit_code: int | None
    stdout_path: Path
    stderr_path: Path
    seconds: float
    message: str
    notes: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    """Files that the script made or changed in its copy of the program, by relative path."""
    workers: tuple[Run, ...] = ()
    """Of several workers, each one's own run, the chief's first; `trace` is then that of all together."""

    @property
    def ok(self) -> bool:
        return self.outcome in ("trained", "predicted")

    @property
    def timed_out(self) -> bool:
        return self.outcome == "timed out"


def run(
    world: World,
    limits: Limits,
    folder: Path,
    initial_weights: Trace | None = None,
    stop: threading.Event | None = None,
    watch: Watch | None = None,
) -> Run:
    """Runs one world to its end and reads its trace.

    `folder` receives trace, stdout and stderr. `initial_weights`: the trace whose initial weights this run starts
    from. Ending this process, or setting `stop`, ends the child and all that it started.
    """
    if not world.runtime.python.exists():
        message = f"{world.role}: the interpreter {world.runtime.python} does not exist; see `tfmigrate runtimes`"
        paths = folder / "stdout.txt", folder / "stderr.txt"
        folder.mkdir(parents=True, exist_ok=True)
        for path in paths:
            path.touch()
        return Run(world, Trace(folder / "trace"), "missing runtime", None, *paths, 0.0, message)
    stops = [stop] if stop else []
    look = _Steps(folder / "trace", world.role, watch).look if watch else _no_look
    if world.workers > 1:
        return _run_workers(world, limits, initial_weights, folder, stops, look)
    return _run_one(world, limits, initial_weights, folder, stops, look)


def _run_one(
    world: World,
    limits: Limits,
    initial_weights: Trace | None,
    results: Path,
    stops: Sequence[threading.Event],
    look: Callable[[], None],
    task: Mapping[str, Any] | None = None,
) -> Run:
    """`task`: which worker of which cluster this is, as TF_CONFIG says it."""
    output = results / "trace"
    output.mkdir(parents=True, exist_ok=True)
    for leftover in output.iterdir():
        leftover.unlink()
    running = output / RUNNING
    running.touch()
    stdout_path, stderr_path = results / "stdout.txt", results / "stderr.txt"
    scratch = Path(tempfile.mkdtemp(prefix="tfmigrate-scratch-"))
    try:
        program = scratch / "program"
        notes = copy_program(world.source, program, limits.largest_copied_file)
        for name, text in world.overlay.items():
            (program / name).parent.mkdir(parents=True, exist_ok=True)
            (program / name).write_text(text, encoding="utf-8")
        config = results / "config.json"
        config.write_text(
            json.dumps(_config(world, limits, scratch, program, output, initial_weights)), encoding="utf-8"
        )
        command = [str(world.runtime.python), str(PROBE), str(config)]
        before = _state(program)
        started = time.monotonic()
        child = _Child(command, program, _environment(world, scratch, task), scratch, stdout_path, stderr_path)
        ended = child.wait(limits, stops, look)
        seconds = time.monotonic() - started
        written = tuple(sorted(name for name, state in _state(program).items() if before.get(name) != state))
    finally:
        _remove(scratch)
        running.unlink()
    recorded = _trace(output)
    outcome, message = _outcome(world, recorded, ended, limits, stderr_path)
    remarks = (*notes, *recorded.notes)
    return Run(world, recorded, outcome, ended.exit_code, stdout_path, stderr_path, seconds, message, remarks, written)


def _run_workers(
    world: World,
    limits: Limits,
    initial_weights: Trace | None,
    results: Path,
    stops: Sequence[threading.Event],
    look: Callable[[], None],
) -> Run:
    """Starts the workers side by side; when one of them fails the others, who would wait for it, are ended."""
    failed = threading.Event()

    def work(index: int) -> Run:
        place = results if index == 0 else results / f"worker {index}"
        task = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
        seen = look if index == 0 else _no_look
        done = _run_one(world, limits, initial_weights, place, (*stops, failed), seen, task)
        if not done.ok:
            failed.set()
        return done

    addresses = _free_addresses(world.workers)
    with ThreadPoolExecutor(world.workers) as pool:
        try:
            workers = list(pool.map(work, range(world.workers)))
        except BaseException:
            failed.set()
            raise
    chief = workers[0]
    bad = [run for run in workers if not run.ok]
    cause = min(bad, key=lambda run: run.message.endswith(STOPPED), default=chief)
    message = f"worker {workers.index(cause)} of {world.workers}: {cause.message}" if bad else ""
    notes = [f"worker {i}: {note}" for i, run in enumerate(workers) for note in run.notes]
    notes += () if bad else map(_work_of, range(world.workers), workers)
    return replace(
        chief,
        trace=traces.together([run.trace for run in workers]),
        outcome=cause.outcome,
        exit_code=cause.exit_code,
        seconds=max(run.seconds for run in workers),
        message=message,
        notes=tuple(notes),
        workers=tuple(workers),
    )


def _work_of(index: int, run: Run) -> str:
    samples = sum(step.samples or 0 for step in run.trace.steps)
    who = f"worker {index}{', the chief,' if index == 0 else ''}"
    return f"{who} trained on {samples} samples and wrote {', '.join(run.written) or 'no file'}"


def _free_addresses(count: int) -> list[str]:
    """Loopback addresses that nobody listens on. They are let go before TensorFlow binds them: another process could
    take one in between, and the run then fails with TensorFlow's own words."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    addresses = ["{}:{}".format(*one.getsockname()) for one in sockets]
    for one in sockets:
        one.close()
    return addresses


Initial = Trace | World | None
"""Whose initial weights a run starts from: a finished run's, by its trace, or a world's that runs in the same call."""


class Execute(Protocol):
    """What `run_all` does; another one may remember what it ran before."""

    def __call__(
        self,
        worlds: Sequence[tuple[World, Initial]],
        limits: Limits,
        folders: Sequence[Path],
        jobs: int | None = None,
        /,
    ) -> list[Run]: ...


def run_all(
    worlds: Sequence[tuple[World, Initial]],
    limits: Limits,
    folders: Sequence[Path],
    jobs: int | None = None,
    watch: Watch | None = None,
) -> list[Run]:
    """Runs worlds side by side, `jobs` at a time (by default `usual_jobs`), or as many as have room: each is expected
    to need as much memory as the run it takes its initial weights from.

    A world that starts from another one's weights begins when that one, which comes before it, has taken its first
    step; the probe waits for the weights of what is trained later. When that one fails, the others are ended. Ctrl-C
    ends every child before it is raised on.
    """
    stop = threading.Event()
    peaks = [start.end.peak_memory_bytes for _, start in worlds if isinstance(start, Trace) and start.end]
    needed = max(filter(None, peaks), default=0)
    room = psutil.virtual_memory().available // needed if needed else len(worlds)
    on_gpus = any(world.kind != "genuine" for world, _ in worlds) and devices.shared()
    workers = 1 if on_gpus else max(1, min(jobs or usual_jobs(), room))
    roles = {start.role for _, start in worlds if isinstance(start, World)}
    leaders = {world.role: _Leader(folder, watch) for (world, _), folder in zip(worlds, folders) if world.role in roles}

    def run_one(world: World, start: Initial, folder: Path) -> Run:
        if isinstance(start, World):
            with leaders[start.role].places:
                return run(world, limits, folder, leaders[start.role].trace, stop, watch)
        leader = leaders.get(world.role)
        if leader is None:
            return run(world, limits, folder, start, stop, watch)
        try:
            done = run(world, limits, folder, start, stop, leader.step)
            if not done.ok:
                stop.set()
            return done
        finally:
            leader.over()

    pool = ThreadPoolExecutor(max_workers=workers)
    try:
        futures = [
            pool.submit(run_one, world, start, folder) for (world, start), folder in zip(worlds, folders, strict=True)
        ]
        wait(futures, return_when=FIRST_EXCEPTION)
        return [future.result() for future in futures]
    except BaseException:
        stop.set()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def usual_jobs() -> int:
    """Runs at a time: one for every two processors."""
    return max(1, (os.cpu_count() or 2) // 2)


class _Leader:
    """A run under way whose initial weights others start from."""

    def __init__(self, folder: Path, watch: Watch | None) -> None:
        self.trace = Trace(folder / "trace")
        self.watch = watch
        self.available = psutil.virtual_memory().available
        self.begun = False
        self.places = threading.Semaphore(0)

    def step(self, role: str, loss: float) -> None:
        self._begin()
        if self.watch:
            self.watch(role, loss)

    def over(self) -> None:
        """It has ended, in whatever way; what it took is there for others."""
        self._begin()
        self.places.release()

    def _begin(self) -> None:
        """From now on others may run: as many as have room, if each takes what this one took until now."""
        if not self.begun:
            self.begun = True
            left = psutil.virtual_memory().available
            for _ in range(left // max(self.available - left, LEAST_MEMORY)):
                self.places.release()


def copy_program(source: Path, target: Path, largest: int) -> list[str]:
    """Copies a program's folder, but for version control, virtual environments and files above `largest` bytes;
    returns notes about what was left out. Links are followed, so that nothing in the copy leads back."""
    notes: list[str] = []

    def left_out(folder: str, names: list[str]) -> set[str]:
        skipped: set[str] = set()
        for name in names:
            path = Path(folder) / name
            if path.is_dir():
                if name in SKIPPED or (path / "pyvenv.cfg").exists() or (path / "conda-meta").exists():
                    skipped.add(name)
            elif not path.is_file():
                skipped.add(name)  # a socket, a pipe or a broken link
            elif path.stat().st_size > largest:
                skipped.add(name)
                notes.append(f"{path.relative_to(source)} ({path.stat().st_size >> 20} MiB) was not copied to the run")
        return skipped

    shutil.copytree(source, target, ignore=left_out)
    return notes


def _config(
    world: World, limits: Limits, scratch: Path, program: Path, output: Path, initial_weights: Trace | None
) -> dict[str, Any]:
    return {
        "scratch": str(scratch),
        "largest_file": limits.disk_bytes,
        "workers": world.workers,
        "script": str(program / world.script),
        "args": list(world.args),
        "cwd": str(program),
        "output": str(output.resolve()),
        "world": world.kind,
        "replicas": world.replicas,
        "initial_weights": str(initial_weights.folder.resolve()) if initial_weights else None,
        "synthetic_data": world.synthetic_data,
        "epochs": limits.epochs,
        "steps_per_epoch": limits.steps_per_epoch,
        "samples": limits.samples,
        "threads": world.threads,
        "aligned": world.aligned,
        "shares_evenly": world.shares_evenly,
        "seed": world.seed,
        "defaults": OLD_KERAS_DEFAULTS if world.standalone and world.kind == "restored" else {},
        "old_optimizers": world.old_optimizers,
        "nudged": world.nudged,
        "standalone": world.standalone,
    }


KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "SYSTEMROOT", "CUDA_HOME")


CACHES = (".keras/datasets", ".keras/models", "tensorflow_datasets")
"""What frameworks downloaded before, below the home folder."""


def _environment(world: World, scratch: Path, task: Mapping[str, Any] | None = None) -> dict[str, str]:
    """The child's variables: few of ours, so that two runs differ by their worlds alone."""
    home, temporary = scratch / "home", scratch / "tmp"
    home.mkdir()
    temporary.mkdir()
    for cache in CACHES:
        _show(Path.home() / cache, home / cache)
    values = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    values.update(
        HOME=str(home),
        TMPDIR=str(temporary),
        MPLBACKEND="Agg",
        PYTHONHASHSEED="0",
        PYTHONUNBUFFERED="1",
        PYTHONDONTWRITEBYTECODE="1",
        PYTHONIOENCODING="utf-8",
        TF_CPP_MIN_LOG_LEVEL="2",
        TF_ENABLE_ONEDNN_OPTS="0",
    )
    index = task["task"]["index"] if task else 0
    share = world.replicas // world.workers
    values["CUDA_VISIBLE_DEVICES"] = "-1" if world.kind == "genuine" else _gpus(index * share, share)
    if world.legacy_keras:
        values[KERAS_2] = "1"
    if world.threads:
        values.update(OMP_NUM_THREADS=str(world.threads), TF_NUM_INTRAOP_THREADS=str(world.threads))
    if task:
        values["TF_CONFIG"] = json.dumps(task)
    values.update(world.environment)
    values[MARK] = uuid.uuid4().hex
    return values


def _show(real: Path, place: Path) -> None:
    """The files under `real` as links under `place`: they can be read, and new ones beside them go with the scratch."""
    for folder, _, names in os.walk(real):
        here = place / Path(folder).relative_to(real)
        here.mkdir(parents=True, exist_ok=True)
        for name in names:
            (here / name).symlink_to(Path(folder) / name)


def _gpus(first: int, count: int) -> str:
    """As many cards as replicas, so that "all visible" means them; numbers that no card has are ignored by CUDA."""
    allowed = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = allowed.split(",") if allowed is not None else [str(i) for i in range(first + count)]
    return ",".join(names[first : first + count])


Reason = Literal["by itself", "time", "disk", "memory", "processes", "stopped"]


@dataclass(frozen=True)
class _Ended:
    exit_code: int | None
    reason: Reason


class _Child:
    """One child in a session of its own; whatever it starts ends with it."""

    def __init__(
        self, command: Sequence[str], cwd: Path, env: Mapping[str, str], scratch: Path, stdout: Path, stderr: Path
    ) -> None:
        self.command, self.cwd, self.env, self.scratch = command, cwd, env, scratch
        self.paths = (stdout, stderr)
        self.copied = _size(scratch)
        """What lies there before the script starts, which no limit counts."""

    def wait(self, limits: Limits, stops: Sequence[threading.Event], look: Callable[[], None]) -> _Ended:
        process = subprocess.Popen(
            self.command,
            cwd=self.cwd,
            env=dict(self.env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        pumps = [
            threading.Thread(target=_keep, args=(pipe, path, limits.output_bytes), daemon=True)
            for pipe, path in zip((process.stdout, process.stderr), self.paths, strict=True)
        ]
        try:
            for pump in pumps:
                pump.start()
            reason = self._watch(process, limits, stops, look)
        finally:
            self._end(process)
            look()
            for pump in pumps:
                if pump.is_alive():
                    pump.join(GRACE_SECONDS)
        return _Ended(process.returncode if reason == "by itself" else None, reason)

    def _watch(
        self,
        process: subprocess.Popen[bytes],
        limits: Limits,
        stops: Sequence[threading.Event],
        look: Callable[[], None],
    ) -> Reason:
        deadline = time.monotonic() + limits.seconds
        next_look = 0.0
        while process.poll() is None:
            now = time.monotonic()
            if now > deadline:
                return "time"
            if any(stop.is_set() for stop in stops):
                return "stopped"
            if now > next_look:
                look()
                over = self._over(process, limits)
                if over is not None:
                    return over
                # A folder of many files takes long to look through: never more than a twentieth of the time.
                next_look = now + max(LOOK_SECONDS, 20 * (time.monotonic() - now))
            with suppress(subprocess.TimeoutExpired):
                process.wait(POLL_SECONDS)
        return "by itself"

    def _over(self, process: subprocess.Popen[bytes], limits: Limits) -> Reason | None:
        """Which limit the run is over."""
        if _size(self.scratch) - self.copied > limits.disk_bytes:
            return "disk"
        family = list(self._family(process))
        if len(family) > limits.processes:
            return "processes"
        if sum(map(_resident, family)) <= limits.memory_bytes:
            return None
        # Forked processes share pages, which each counts as its own; to know better takes longer.
        return "memory" if sum(map(_share, family)) > limits.memory_bytes else None

    def _family(self, process: subprocess.Popen[bytes]) -> Iterator[psutil.Process]:
        """The child and what it started: in its session, or marked as this run's."""
        for one in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                ours = os.getsid(one.pid) == process.pid or one.environ().get(MARK) == self.env[MARK]
                if ours and one.status() != psutil.STATUS_ZOMBIE:
                    yield one

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Ends the child and everything it started: politely, then not."""
        for how in (signal.SIGTERM, signal.SIGKILL):
            family = list(self._family(process))
            for one in family:
                with suppress(psutil.Error):
                    one.send_signal(how)
            psutil.wait_procs([one for one in family if one.pid != process.pid], GRACE_SECONDS)
            with suppress(subprocess.TimeoutExpired):
                process.wait(GRACE_SECONDS if family else None)
        process.wait()


def _share(process: psutil.Process) -> int:
    """Resident bytes, a page of several processes shared out among them where the system tells."""
    try:
        full = process.memory_full_info()
    except psutil.Error:
        return _resident(process)
    return int(getattr(full, "pss", full.uss))


def _no_look() -> None:
    """Nobody watches."""


class _Steps:
    """Reads a trace while it is written, and tells of each step."""

    def __init__(self, output: Path, role: str, watch: Watch) -> None:
        self.path, self.role, self.watch = output / "trace.jsonl", role, watch
        self.read = 0

    def look(self) -> None:
        with suppress(OSError), self.path.open("rb") as file:
            file.seek(self.read)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self.read += len(line)
                with suppress(ValueError):
                    event = json.loads(line)
                    if event.get("event") == "step":
                        self.watch(self.role, float(event["loss"]))


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def _remove(scratch: Path) -> None:
    for work in scratch.glob("layers/*/work/work"):  # the kernel's, which nobody may enter
        with suppress(OSError):
            work.chmod(0o700)
    shutil.rmtree(scratch, ignore_errors=True)


def _state(folder: Path) -> dict[str, tuple[int, int]]:
    """Relative path -> (time of change in ns, bytes) of each file."""
    found = {}
    for root, _, names in os.walk(folder):
        for name in names:
            path = Path(root) / name
            with suppress(OSError):
                state = path.lstat()
                found[str(path.relative_to(folder))] = (state.st_mtime_ns, state.st_size)
    return found


def _keep(pipe: IO[bytes], path: Path, limit: int) -> None:
    """Keeps the first `limit` bytes of what the child prints, and reads on so that it is never blocked."""
    kept = 0
    with path.open("wb") as file:
        while chunk := pipe.read1(65536):  # type: ignore[attr-defined]
            if kept < limit:
                file.write(chunk[: limit - kept])
                file.flush()
                if kept + len(chunk) > limit:
                    file.write(b"\n[the rest was not kept]\n")
            kept += len(chunk)


def _size(folder: Path) -> int:
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(root, name)).st_size
            except OSError:
                continue
    return total


def _trace(output: Path) -> Trace:
    try:
        return traces.load(output)
    except FileNotFoundError:
        return Trace(output)


STOPPED = "was stopped"


def _outcome(world: World, recorded: Trace, ended: _Ended, limits: Limits, stderr: Path) -> tuple[Outcome, str]:
    """Which of the ways a run can end this was, and what to tell the user."""
    who = f"{world.role}: {world.script}"
    if ended.reason == "time":
        step = f"after {len(recorded.steps)} training steps" if recorded.steps else "before its first training step"
        if recorded.predictions:
            step = f"after {len(recorded.predictions)} calls that predict"
        return (
            "timed out",
            f"{who} was ended after {limits.seconds:g} seconds, {step}; allow more time "
            "(--timeout) or fewer steps (--steps, --epochs)",
        )
    if ended.reason == "disk":
        return "over a limit", f"{who} wrote more than {limits.disk_bytes >> 20} MiB and was ended"
    if ended.reason == "memory":
        return "over a limit", f"{who} took more than {limits.memory_bytes >> 20} MiB of memory and was ended"
    if ended.reason == "processes":
        return "over a limit", f"{who} started more than {limits.processes} processes and was ended"
    if ended.reason == "stopped":
        return "crashed", f"{who} {STOPPED}"
    error = recorded.end.error if recorded.end else None
    if error or ended.exit_code or recorded.end is None:
        end = f"died: {error}{hint(error, world)}" if error else _died(ended.exit_code, stderr)
        trained = f"; it had taken {len(recorded.steps)} training steps by then" if recorded.steps else ""
        return "crashed", f"{who} {end}{trained}"
    if recorded.predictions:
        return "predicted", ""
    if not recorded.steps:
        what = "never trained a model with fit or train_on_batch, nor called predict of one"
        return "trained nothing", f"{who} ran to its end but {what}"
    return "trained", ""


PACKAGES = {"cv2": "opencv-python-headless", "sklearn": "scikit-learn", "PIL": "pillow", "yaml": "pyyaml"}
"""Packages whose module has another name."""


def hint(error: str, world: World) -> str:
    """What an error may have to do with the place the script was run in, and what to do about it."""
    missing = re.match(r"(?:ModuleNotFound|Import)Error: No module named '([^'.]+)'?", error)
    if missing and missing[1] not in ("keras", "tensorflow"):
        package = PACKAGES.get(missing[1], missing[1])
        return (
            f"; where it is a package: uv pip install --python {world.runtime.python} {package}; where it is a file of "
            "the program, name the folder that holds it with --cwd"
        )
    if error.startswith(("PermissionError", "OSError: [Errno 30]")):
        return "; verify lets a script write only in its own copy of the program, a home folder and a /tmp of its own"
    if error.startswith("FileNotFoundError"):
        return "; verify runs a script in a copy of its folder, with an empty home folder (see --cwd, --env)"
    return ""


def _died(exit_code: int | None, stderr: Path) -> str:
    """Words for an end that the probe did not see: a signal, or os._exit."""
    lines = stderr.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    last = f"; its last line on stderr: {lines[-1][:300]}" if lines else ""
    if exit_code is not None and exit_code < 0:
        try:
            name = signal.Signals(-exit_code).name
        except ValueError:
            name = f"signal {-exit_code}"
        return f"was killed by {name}{last}"
    return f"ended with exit code {exit_code} and without a word to the probe{last}"
