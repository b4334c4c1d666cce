"""Runs worlds side by side, as many as have room."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

import psutil

from tfmigrate.verify.run import devices
from tfmigrate.verify.run.experiment import run
from tfmigrate.verify.run.futures import results_of
from tfmigrate.verify.run.launch import Launch, fresh
from tfmigrate.verify.run.together import Together
from tfmigrate.verify.run.trace import End, Trace
from tfmigrate.verify.run.world import Done, Initial, Limits, Run, Watch, World

CONTEXT = 1 << 29
"""Bytes that CUDA takes of a GPU for each process (0.5 GiB on an H200, measured)."""
LEAST_MEMORY = 1 << 29
"""Bytes that a run is expected to take at least."""


def run_all(
    worlds: Sequence[tuple[World, Initial]],
    limits: Limits,
    folders: Sequence[Path],
    jobs: int | None = None,
    watch: Watch | None = None,
    launch: Launch = fresh,
    done: Done | None = None,
) -> list[Run]:
    """Runs worlds side by side, `jobs` at a time (by default `usual_jobs`), or as many as have room: each is expected
    to need as much memory as the run it takes its initial weights from, of the machine and of a GPU that they share.
    Where each replica has a GPU of its own, runs follow one another, for their speed is read.

    A world that starts from another one's weights begins when that one, which comes before it, has taken its first
    step; the probe waits for the weights of what is trained later. When that one fails, the others are ended. Ctrl-C
    ends every child before it is raised on.
    """
    memories: list[_Memory | _Card] = [_Memory()]
    cards = devices.visible() if any(world.kind != "genuine" for world, _ in worlds) else 0
    if cards:
        memories.append(_Card())
    if cards >= max((world.replicas for world, _ in worlds), default=1):
        room = 1
    elif any(isinstance(start, World) for _, start in worlds):
        room = len(worlds)  # once the run that they start from has begun, they wait for what it leaves
    else:
        ends = [start.end for _, start in worlds if isinstance(start, Trace) and start.end]
        room = min(memory.room_for(ends) for memory in memories)
    workers = max(1, min(jobs or usual_jobs(), room))
    with Together(limits) as together:

        def begin(world: World, folder: Path, initial: Trace | None, stop: threading.Event, first: Watch | None) -> Run:
            return run(world, limits, folder, initial, stop, _both(first, watch), launch, together)

        return dispatch(worlds, folders, workers, begin, lambda: min(one.room_beside() for one in memories), done)


def _both(first: Watch | None, second: Watch | None) -> Watch | None:
    if first is None or second is None:
        return first or second

    def told(role: str, loss: float) -> None:
        first(role, loss)
        second(role, loss)

    return told


class Begin(Protocol):
    """Runs one world to its end, from the initial weights of a trace; ends it when `stop` is set. `first` is told each
    step, and waits for the first one."""

    def __call__(
        self, world: World, folder: Path, initial: Trace | None, stop: threading.Event, first: Watch | None, /
    ) -> Run: ...


def dispatch(
    worlds: Sequence[tuple[World, Initial]],
    folders: Sequence[Path],
    workers: int,
    begin: Begin,
    room_beside: Callable[[], int],
    done: Done | None,
) -> list[Run]:
    """Runs worlds, `workers` at a time, in the order that their initial weights ask for (see `run_all`).

    `room_beside`: asked once a run whose weights others start from has taken its first step, or has ended: how many of
    those may go on at a time.
    """
    stop = threading.Event()
    roles = {start.role for _, start in worlds if isinstance(start, World)}
    leaders = {
        world.role: _Leader(folder, room_beside) for (world, _), folder in zip(worlds, folders) if world.role in roles
    }

    def run_and_tell(world: World, start: Initial, folder: Path) -> Run:
        ended = run_one(world, start, folder)
        if done is not None:
            done(ended)
        return ended

    def run_one(world: World, start: Initial, folder: Path) -> Run:
        if isinstance(start, World):
            with leaders[start.role].places:
                return begin(world, folder, leaders[start.role].trace, stop, None)
        leader = leaders.get(world.role)
        if leader is None:
            return begin(world, folder, start, stop, None)
        try:
            led = begin(world, folder, start, stop, leader.step)
            if not led.ok:
                stop.set()
            return led
        finally:
            leader.over()

    pool = ThreadPoolExecutor(max_workers=workers)
    try:
        futures = [
            pool.submit(run_and_tell, world, start, folder)
            for (world, start), folder in zip(worlds, folders, strict=True)
        ]
        return results_of(futures)
    except BaseException:
        stop.set()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def usual_jobs() -> int:
    """Runs at a time: one for every two processors, and two where there are but two, because a run of small steps
    keeps one busy (12 s of processor in 13 s, two replicas of a small network on TensorFlow 2.21)."""
    count = os.cpu_count() or 1
    return min(count, max(2, count // 2))


class _Memory:
    """What this machine has free now, to see what a run takes."""

    def __init__(self) -> None:
        self.available = psutil.virtual_memory().available

    def room_beside(self) -> int:
        """As many runs as have room, if each takes what was taken until now."""
        left = psutil.virtual_memory().available
        return int(left // max(self.available - left, LEAST_MEMORY))

    def room_for(self, ends: Sequence[End]) -> int:
        """As many runs as have room, each like the largest of these; any number where nobody knows."""
        taken = max((end.peak_memory_bytes or 0 for end in ends), default=0)
        return int(self.available // taken) if taken else sys.maxsize


class _Card:
    """What the first GPU has free now, to see what a run takes: no more than it needs (scratch.environment).

    Twice that is left for each, because a run may grow, and one that finds no memory fails. Where nobody knows, because
    the run before it was a genuine one on the CPU, say, there is room for one.
    """

    def __init__(self) -> None:
        self.free = devices.free_memory()

    def room_beside(self) -> int:
        """As many runs as have room, if each takes what was taken until now."""
        left = devices.free_memory()
        return left // (2 * (self.free - left)) if left < self.free else 1

    def room_for(self, ends: Sequence[End]) -> int:
        """As many runs as have room, each like the largest of these."""
        tensors = max((end.peak_gpu_memory_bytes or 0 for end in ends), default=0)
        return self.free // (2 * (tensors + CONTEXT)) if tensors else 1


class _Leader:
    """A run under way whose initial weights others start from."""

    def __init__(self, folder: Path, room_beside: Callable[[], int]) -> None:
        self.trace = Trace(folder / "trace")
        self.room_beside = room_beside
        self.begun = False
        self.places = threading.Semaphore(0)

    def step(self, role: str, loss: float) -> None:
        self._begin()

    def over(self) -> None:
        """It has ended, in whatever way; what it took is there for others."""
        self._begin()
        self.places.release()

    def _begin(self) -> None:
        """From now on others may run."""
        if not self.begun:
            self.begun = True
            for _ in range(self.room_beside()):
                self.places.release()
