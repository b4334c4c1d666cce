"""Runs worlds side by side, as many as have room."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

from tfmigrate.verify.run import devices
from tfmigrate.verify.run.experiment import run
from tfmigrate.verify.run.futures import results_of
from tfmigrate.verify.run.launch import Launch, fresh
from tfmigrate.verify.run.together import Together
from tfmigrate.verify.run.trace import Trace
from tfmigrate.verify.run.world import Done, Initial, Limits, Run, Watch, World

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
    to need as much memory as the run it takes its initial weights from.

    A world that starts from another one's weights begins when that one, which comes before it, has taken its first
    step; the probe waits for the weights of what is trained later. When that one fails, the others are ended. Ctrl-C
    ends every child before it is raised on.
    """
    with Together(limits) as together:
        return _run_all(worlds, limits, folders, jobs, watch, launch, done, together)


def _run_all(
    worlds: Sequence[tuple[World, Initial]],
    limits: Limits,
    folders: Sequence[Path],
    jobs: int | None,
    watch: Watch | None,
    launch: Launch,
    done: Done | None,
    together: Together,
) -> list[Run]:
    stop = threading.Event()
    peaks = [start.end.peak_memory_bytes for _, start in worlds if isinstance(start, Trace) and start.end]
    needed = max(filter(None, peaks), default=0)
    room = psutil.virtual_memory().available // needed if needed else len(worlds)
    on_gpus = any(world.kind != "genuine" for world, _ in worlds) and devices.shared()
    workers = 1 if on_gpus else max(1, min(jobs or usual_jobs(), room))
    roles = {start.role for _, start in worlds if isinstance(start, World)}
    leaders = {world.role: _Leader(folder, watch) for (world, _), folder in zip(worlds, folders) if world.role in roles}

    def run_and_tell(world: World, start: Initial, folder: Path) -> Run:
        ended = run_one(world, start, folder)
        if done is not None:
            done(ended)
        return ended

    def run_one(world: World, start: Initial, folder: Path) -> Run:
        if isinstance(start, World):
            with leaders[start.role].places:
                return run(world, limits, folder, leaders[start.role].trace, stop, watch, launch, together)
        leader = leaders.get(world.role)
        if leader is None:
            return run(world, limits, folder, start, stop, watch, launch, together)
        try:
            led = run(world, limits, folder, start, stop, leader.step, launch, together)
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
