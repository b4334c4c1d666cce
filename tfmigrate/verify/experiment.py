"""Runs training scripts in child processes, each in its own world: an interpreter, a copy of the program, devices.

The user's files are read and never written: the program's folder is copied to a scratch folder that goes when the run
ends. What stays is the trace, the script's output, and what was made of them here.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

from tfmigrate.verify import trace as traces
from tfmigrate.verify.runtimes import KERAS_2, Runtime
from tfmigrate.verify.trace import Trace

Kind = Literal["genuine", "restored", "migrated"]
Outcome = Literal["trained", "crashed", "timed out", "too much output", "trained nothing", "missing runtime"]

PROBE = Path(__file__).parent / "probe" / "run.py"
SKIPPED = frozenset([".git", ".hg", ".svn", "node_modules", "__pycache__", ".tox", ".mypy_cache", ".ruff_cache"])
POLL_SECONDS = 0.1
GRACE_SECONDS = 5.0
SEED = 20200401

OLD_KERAS_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "Adadelta": {"learning_rate": 1.0},
    "Adagrad": {"learning_rate": 0.01, "initial_accumulator_value": 0.0, "epsilon": 1e-14},
    "Adamax": {"learning_rate": 0.002},
    "Nadam": {"learning_rate": 0.002},
    "RMSprop": {"epsilon": 1e-14},
    "GRU": {"reset_after": False},
}
"""Standalone Keras 2.3.1, as its constructors have them (keras/optimizers.py, keras/layers/recurrent.py). Its RMSprop
and Adagrad add epsilon outside the square root, where 1e-7 is what 1e-14 is inside it."""

OLD_TF_KERAS_DEFAULTS: Mapping[str, Mapping[str, Any]] = {"RMSprop": {"epsilon": 1e-14}}
"""tf.keras up to TensorFlow 2.10: the place of epsilon alone."""


@dataclass(frozen=True)
class Limits:
    """What a run may use. `epochs` and `steps_per_epoch` shorten the training itself; None leaves it as written."""

    seconds: float = 900.0
    disk_bytes: int = 4 << 30
    output_bytes: int = 8 << 20
    largest_copied_file: int = 1 << 30
    epochs: int | None = None
    steps_per_epoch: int | None = None


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
    defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Old default values for the restored world, by class name."""
    environment: Mapping[str, str] = field(default_factory=dict)
    overlay: Mapping[str, str] = field(default_factory=dict)
    """Files written into the copy, relative path to text: a wrong migration to be told apart, say."""


@dataclass(frozen=True)
class Run:
    """What became of a world. `message` is for the user: empty when the script ran to its end and trained."""

    world: World
    trace: Trace
    outcome: Outcome
    exit_code: int | None
    stdout_path: Path
    stderr_path: Path
    seconds: float
    message: str
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.outcome == "trained"

    @property
    def timed_out(self) -> bool:
        return self.outcome == "timed out"


def run(
    world: World,
    limits: Limits,
    initial_weights: Trace | None = None,
    folder: Path | None = None,
    stop: threading.Event | None = None,
) -> Run:
    """Runs one world to its end and reads its trace.

    `initial_weights`: the trace whose initial weights this run starts from. `folder` receives trace, stdout and
    stderr (a new temporary folder by default; it stays). Ending this process, or setting `stop`, ends the child and
    all that it started.
    """
    results = folder or Path(tempfile.mkdtemp(prefix="tfmigrate-"))
    output = results / "trace"
    output.mkdir(parents=True, exist_ok=True)
    for leftover in output.iterdir():
        leftover.unlink()
    stdout_path, stderr_path = results / "stdout.txt", results / "stderr.txt"
    if not world.runtime.python.exists():
        message = f"{world.role}: the interpreter {world.runtime.python} does not exist; see `tfmigrate runtimes`"
        stdout_path.touch()
        stderr_path.touch()
        return Run(world, Trace(output), "missing runtime", None, stdout_path, stderr_path, 0.0, message)
    scratch = Path(tempfile.mkdtemp(prefix="tfmigrate-scratch-"))
    try:
        program = scratch / "program"
        notes = copy_program(world.source, program, limits.largest_copied_file)
        for name, text in world.overlay.items():
            (program / name).parent.mkdir(parents=True, exist_ok=True)
            (program / name).write_text(text, encoding="utf-8")
        config = results / "config.json"
        config.write_text(json.dumps(_config(world, limits, program, output, initial_weights)), encoding="utf-8")
        command = [str(world.runtime.python), str(PROBE), str(config)]
        started = time.monotonic()
        ended = _Child(command, program, _environment(world, scratch), scratch, stdout_path, stderr_path).wait(
            limits, stop
        )
        seconds = time.monotonic() - started
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    recorded = _trace(output)
    outcome, message = _outcome(world, recorded, ended, limits, stderr_path)
    return Run(
        world, recorded, outcome, ended.exit_code, stdout_path, stderr_path, seconds, message, (*notes, *recorded.notes)
    )


def run_all(
    worlds: Sequence[tuple[World, Trace | None]], limits: Limits, folders: Sequence[Path], jobs: int | None = None
) -> list[Run]:
    """Runs worlds that do not wait for one another, `jobs` at a time (by default one for every two cores).

    Each comes with the trace it takes its initial weights from. Ctrl-C ends every child before it is raised on.
    """
    stop = threading.Event()
    workers = jobs or max(1, (os.cpu_count() or 2) // 2)
    pool = ThreadPoolExecutor(max_workers=workers)
    try:
        futures = [
            pool.submit(run, world, limits, initial, folder, stop)
            for (world, initial), folder in zip(worlds, folders, strict=True)
        ]
        wait(futures, return_when=FIRST_EXCEPTION)
        return [future.result() for future in futures]
    except BaseException:
        stop.set()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


Execute = Callable[[Sequence[tuple[World, Trace | None]], Limits, Sequence[Path], int | None], list[Run]]
"""What `run_all` does; another one may remember what it ran before."""


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


def _config(world: World, limits: Limits, program: Path, output: Path, initial_weights: Trace | None) -> dict[str, Any]:
    return {
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
        "threads": world.threads,
        "aligned": world.aligned,
        "shares_evenly": world.shares_evenly,
        "seed": world.seed,
        "defaults": world.defaults if world.kind == "restored" else {},
    }


KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "SYSTEMROOT", "CUDA_HOME")


def _environment(world: World, scratch: Path) -> dict[str, str]:
    """The child's variables: few of ours, so that two runs differ by their worlds alone."""
    home, temporary = scratch / "home", scratch / "tmp"
    home.mkdir()
    temporary.mkdir()
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
    values["CUDA_VISIBLE_DEVICES"] = "-1" if world.kind == "genuine" else _first_gpus(world.replicas)
    if world.legacy_keras:
        values[KERAS_2] = "1"
    if world.threads:
        values.update(OMP_NUM_THREADS=str(world.threads), TF_NUM_INTRAOP_THREADS=str(world.threads))
    values.update(world.environment)
    return values


def _first_gpus(count: int) -> str:
    """As many cards as replicas, so that "all visible" means them; numbers that no card has are ignored by CUDA."""
    allowed = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = allowed.split(",") if allowed is not None else [str(i) for i in range(count)]
    return ",".join(names[:count])


@dataclass(frozen=True)
class _Ended:
    exit_code: int | None
    reason: Literal["by itself", "time", "disk", "stopped"]


class _Child:
    """One child in a process group of its own, so that whatever it starts ends with it."""

    def __init__(
        self, command: Sequence[str], cwd: Path, env: Mapping[str, str], scratch: Path, stdout: Path, stderr: Path
    ) -> None:
        self.command, self.cwd, self.env, self.scratch = command, cwd, env, scratch
        self.paths = (stdout, stderr)

    def wait(self, limits: Limits, stop: threading.Event | None) -> _Ended:
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
            reason = self._watch(process, limits, stop)
        finally:
            _end_group(process)
            for pump in pumps:
                if pump.is_alive():
                    pump.join(GRACE_SECONDS)
        return _Ended(process.returncode if reason == "by itself" else None, reason)

    def _watch(
        self, process: subprocess.Popen[bytes], limits: Limits, stop: threading.Event | None
    ) -> Literal["by itself", "time", "disk", "stopped"]:
        deadline = time.monotonic() + limits.seconds
        next_look = time.monotonic() + 2.0
        while process.poll() is None:
            now = time.monotonic()
            if now > deadline:
                return "time"
            if stop is not None and stop.is_set():
                return "stopped"
            if now > next_look:
                if _size(self.scratch) > limits.disk_bytes:
                    return "disk"
                next_look = now + 2.0
            try:
                process.wait(POLL_SECONDS)
            except subprocess.TimeoutExpired:
                continue
        return "by itself"


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends the child and everything in its group: politely, then not."""
    for how, patience in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, GRACE_SECONDS)):
        try:
            os.killpg(process.pid, how)
        except (ProcessLookupError, PermissionError):
            break
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            continue
    process.wait()


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


def _outcome(world: World, recorded: Trace, ended: _Ended, limits: Limits, stderr: Path) -> tuple[Outcome, str]:
    """Which of the ways a run can end this was, and what to tell the user."""
    who = f"{world.role}: {world.script}"
    if ended.reason == "time":
        step = f"after {len(recorded.steps)} training steps" if recorded.steps else "before its first training step"
        return "timed out", f"{who} was ended after {limits.seconds:g} seconds, {step}; allow more time or fewer epochs"
    if ended.reason == "disk":
        return "too much output", f"{who} wrote more than {limits.disk_bytes >> 20} MiB and was ended"
    if ended.reason == "stopped":
        return "crashed", f"{who} was stopped"
    error = recorded.end.error if recorded.end else None
    if error or ended.exit_code or recorded.end is None:
        return "crashed", f"{who} {f'died: {error}' if error else _died(ended.exit_code, stderr)}"
    if not recorded.steps:
        return "trained nothing", f"{who} ran to its end but never trained a model with fit or train_on_batch"
    return "trained", ""


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
