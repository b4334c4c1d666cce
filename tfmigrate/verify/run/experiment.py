"""Runs training scripts in child processes, each in its own world: an interpreter, a copy of the program, devices.

The user's files are read and never written: the program's folder is copied to a scratch folder that goes when the run
ends. What stays is the trace, the script's output, and what was made of them here. On Linux the kernel keeps the
script from all that is not its own (see probe/confine.py); what it cannot be kept from is in the run's notes. Not
prevented on any level: reading, and what a script does over the network or the sockets of local services.
"""

from __future__ import annotations

import json
import math
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tfmigrate.old_keras import (
    FIRST,
    LOSS_WORDS,
    MOVED_MODULES,
    SINCE,
    forgets_late_penalties,
    freezes_by_batch,
    recurrent_defaults,
)
from tfmigrate.rules import moved_names, old_defaults
from tfmigrate.verify.run import cgroups, packages, sandbox
from tfmigrate.verify.run import trace as traces
from tfmigrate.verify.run.child import Child
from tfmigrate.verify.run.disk import make_scratch, remove_scratch
from tfmigrate.verify.run.futures import results_of
from tfmigrate.verify.run.launch import Command, Launch, fresh
from tfmigrate.verify.run.outcome import STOPPED, outcome_of, standing
from tfmigrate.verify.run.scratch import PROGRAM, SETUP, STUBS, environment, lay_out, state_of
from tfmigrate.verify.run.together import Together
from tfmigrate.verify.run.trace import Trace
from tfmigrate.verify.run.workers import joined
from tfmigrate.verify.run.world import Limits, Run, Watch, World

PROBE = Path(__file__).parents[1] / "probe" / "run.py"
NAMED = 10
"""Files that a note names."""
STANDING = "standing.txt"
RUNNING = "running"
"""In a trace's folder while its run goes on: the probe of another run waits for what is not written yet."""


def run(
    world: World,
    limits: Limits,
    folder: Path,
    initial_weights: Trace | None = None,
    stop: threading.Event | None = None,
    watch: Watch | None = None,
    launch: Launch = fresh,
    together: Together | None = None,
) -> Run:
    """Runs one world to its end and reads its trace.

    `folder` receives trace, stdout and stderr. `initial_weights`: the trace whose initial weights this run starts
    from. Ending this process, or setting `stop`, ends the child and all that it started. `launch`: in a new
    interpreter, or in a fork of one that has imported TensorFlow (`Servers.launch`). `together`: the runs beside it,
    with which it shares the limits. Raises UserError when the sandbox asked for cannot be had.
    """
    if together is None:
        with Together(limits) as alone:
            return run(world, limits, folder, initial_weights, stop, watch, launch, alone)
    if not world.runtime.python.exists():
        message = f"{world.role}: the interpreter {world.runtime.python} does not exist; see `tfmigrate runtimes`"
        paths = folder / "stdout.txt", folder / "stderr.txt"
        folder.mkdir(parents=True, exist_ok=True)
        for path in paths:
            path.touch()
        return Run(world, Trace(folder / "trace"), "missing runtime", None, *paths, 0.0, message)
    stops = [stop] if stop else []
    if world.workers > 1 or initial_weights is not None:  # which may wait for one another, or for those weights
        limits = replace(limits, still_seconds=math.inf)

    def attempt() -> Run:
        look = _Steps(folder / "trace", world.role, watch).look if watch else _no_look
        return _Attempt(world, limits, initial_weights, folder, stops, look, launch, together).run()

    with _under_way(folder / "trace"):
        first = attempt()
        if first.outcome != "stood still":
            return first
        # An Estimator of TensorFlow 1.15 does at times, after its last step: twice in some hundred runs.
        again = attempt()
        return replace(again, notes=(*again.notes, f"this is a second attempt: {first.message}"))


@contextmanager
def _under_way(output: Path) -> Iterator[None]:
    output.mkdir(parents=True, exist_ok=True)
    running = output / RUNNING
    running.touch()
    try:
        yield
    finally:
        running.unlink()


@dataclass(frozen=True)
class _Attempt:
    """One attempt to run a world."""

    world: World
    limits: Limits
    initial_weights: Trace | None
    results: Path
    stops: Sequence[threading.Event]
    look: Callable[[], None]
    launch: Launch
    together: Together
    task: Mapping[str, Any] | None = None
    """Which worker of which cluster this is, as TF_CONFIG says it."""

    def run(self) -> Run:
        return self.as_workers() if self.world.workers > 1 else self.alone()

    def alone(self) -> Run:
        """Runs it in one process, which may be one worker of several."""
        world, limits, output = self.world, self.limits, self.results / "trace"
        output.mkdir(parents=True, exist_ok=True)
        for leftover in output.iterdir():
            if leftover.name != RUNNING:
                leftover.unlink()
        stdout_path, stderr_path = self.results / "stdout.txt", self.results / "stderr.txt"
        scratch = make_scratch()
        confinement = sandbox.choose(limits.sandbox)
        group = self.together.group_for_run()
        try:
            program = scratch / PROGRAM
            notes = lay_out(world, scratch, limits.largest_copied_file)
            config = self.results / "config.json"
            asked = _config(world, limits, scratch, program, output, self.initial_weights)
            confined = {"sandbox": confinement.level, "cgroup": str(group) if group else None}
            config.write_text(json.dumps({**asked, **confined}), encoding="utf-8")
            variables = environment(world, scratch, self.task)
            wrapper = sandbox.bubblewrap(scratch, output) if confinement.level == "bubblewrap" else ()
            command = Command(world.runtime.python, PROBE, (str(config),), program, variables, wrapper)
            before = state_of(program)
            started = time.monotonic()
            child = Child(command, self.launch, scratch, stdout_path, stderr_path, self.together, group)
            ended = child.wait(limits, self.stops, self.look)
            seconds = time.monotonic() - started
            written = tuple(sorted(name for name, state in state_of(program).items() if before.get(name) != state))
        finally:
            remove_scratch(scratch)
            if group is not None:
                cgroups.remove(group)
        recorded = _trace(output)
        stood = standing(output / STANDING, program)
        outcome, message = outcome_of(world, recorded, ended, limits, stderr_path, stood)
        weaker = (
            [(f"{confinement.level} was the strongest sandbox available: {confinement.weaker}")]
            if confinement.weaker
            else []
        )
        remarks = (*notes, *weaker, *recorded.notes)
        return Run(
            world, recorded, outcome, ended.exit_code, stdout_path, stderr_path, seconds, message, remarks, written
        )

    def as_workers(self) -> Run:
        """Starts the workers side by side; when one of them fails the others, who would wait for it, are ended."""
        failed, count = threading.Event(), self.world.workers

        def work(index: int) -> Run:
            place = self.results if index == 0 else self.results / f"worker {index}"
            task = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
            look = self.look if index == 0 else _no_look
            done = replace(self, results=place, stops=(*self.stops, failed), look=look, task=task).alone()
            if not done.ok:
                failed.set()
            return done

        addresses = _free_addresses(count)
        with ThreadPoolExecutor(count) as pool:
            try:
                workers = results_of([pool.submit(work, index) for index in range(count)])
            except BaseException:
                failed.set()
                raise
        chief = workers[0]
        bad = [run for run in workers if not run.ok]
        cause = min(bad, key=lambda run: run.message.endswith(STOPPED), default=chief)
        message = f"worker {workers.index(cause)} of {count}: {cause.message}" if bad else ""
        notes = [f"worker {i}: {note}" for i, run in enumerate(workers) for note in run.notes]
        notes += () if bad else map(_work_of, range(count), workers)
        return replace(
            chief,
            trace=joined([run.trace for run in workers]),
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
    more = f" and {len(run.written) - NAMED} more" if len(run.written) > NAMED else ""
    return f"{who} trained on {samples} samples and wrote {', '.join(run.written[:NAMED]) or 'no file'}{more}"


def _free_addresses(count: int) -> list[str]:
    """Loopback addresses that nobody listens on. They are let go before TensorFlow binds them: another process could
    take one in between, and the run then fails with TensorFlow's own words."""
    sockets = [socket.socket() for _ in range(count)]
    for bound in sockets:
        bound.bind(("127.0.0.1", 0))
    addresses = ["{}:{}".format(*bound.getsockname()) for bound in sockets]
    for bound in sockets:
        bound.close()
    return addresses


OF_WORLD = (
    "workers", "replicas", "synthetic_data", "threads", "aligned", "shares_evenly", "seed", "old_optimizers",
    "whole_batches", "nudged", "doubles", "deterministic", "standalone",
)  # fmt: skip
OF_LIMITS = ("epochs", "steps_per_epoch", "samples", "budget", "patience", "exactly", "gradient")
"""The fields of a world and its limits that the probe is given, by their names here and there."""


def _config(
    world: World, limits: Limits, scratch: Path, program: Path, output: Path, initial_weights: Trace | None
) -> dict[str, Any]:
    return {
        "scratch": str(scratch),
        "largest_file": limits.disk_bytes,
        "shared_memory": limits.memory_bytes,
        "tasks": limits.tasks,
        "script": str(program / world.script),
        "args": list(world.args),
        "cwd": str(program / world.start),
        "program": str(program),
        "module": world.module,
        "setup": str(scratch / SETUP / world.setup.name) if world.setup else None,
        "stubs": str(scratch / STUBS) if world.stubs else None,
        "packages": str(world.packages) if world.packages else None,
        "imports": packages.imported_by(world),
        "output": str(output.resolve()),
        "standing": str(output.resolve() / STANDING),
        "world": world.kind,
        "initial_weights": str(initial_weights.folder.resolve()) if initial_weights else None,
        "defaults": _defaults(world) if world.kind == "restored" else {},
        "frozen_by_batch": freezes_by_batch(world.flavour, world.defaults_of),
        "forgets_late_penalties": forgets_late_penalties(world.flavour, world.defaults_of),
        "words": LOSS_WORDS,
        "names": moved_names() if world.kind == "restored" else {},
        "moved": MOVED_MODULES,
        "places": _places(world) if world.kind == "restored" else {},
        **{name: getattr(world, name) for name in OF_WORLD},
        **{name: getattr(limits, name) for name in OF_LIMITS},
    }


def _defaults(world: World) -> dict[str, dict[str, Any]]:
    """Class to argument to value. The optimizers of tf.keras have today's; what epsilon is where it stands now, the
    probe knows."""
    defaults = recurrent_defaults(world.flavour, world.defaults_of)
    for row in old_defaults() if world.standalone else ():
        defaults.setdefault(row.of.rpartition(".")[2], {})[row.argument] = row.old
    return defaults


def _places(world: World) -> dict[str, Sequence[Sequence[str]]]:
    since = SINCE[world.flavour]
    return {optimizer: (FIRST[optimizer], since[optimizer]) for optimizer in FIRST}


def _trace(output: Path) -> Trace:
    try:
        return traces.load(output)
    except FileNotFoundError:
        return Trace(output)


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
