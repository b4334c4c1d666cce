"""What does runs on other machines: the little that is asked of it, and how runs are given to it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from tfmigrate.errors import UserError
from tfmigrate.verify.on import job
from tfmigrate.verify.run.outcome import STOPPED
from tfmigrate.verify.run.side_by_side import dispatch
from tfmigrate.verify.run.trace import Trace
from tfmigrate.verify.run.world import Done, Initial, Limits, Run, Watch, World

TRIES = 3
POLL_SECONDS = 0.2


class Lost(Exception):
    """The machine that did a job, or the process on it, died; the message says how that was seen."""


class Task(Protocol):
    """A job that was handed over."""

    def result(self, seconds: float) -> bytes | None:
        """What `job.do` answered, or None where it is not done within so many seconds. Raises Lost."""

    def cancel(self) -> None:
        """Ends it, and all that it started."""


class Engine(Protocol):
    """A cluster. Ray and Slurm queue what has no room yet."""

    @property
    def at_once(self) -> int:
        """Runs that it is worth handing over at a time."""

    def submit(self, packed: bytes, world: World) -> Task:
        """Hands over a job: it asks for as many GPUs, or processors, as the world has replicas."""

    def close(self) -> None:
        """Ends what still goes on."""


@dataclass(frozen=True)
class Elsewhere:
    """An `Execute` whose runs an engine does. Each is one task; a run that is lost with its machine is done again.
    Several threads may call it at a time."""

    engine: Engine
    interrupted: threading.Event = field(default_factory=threading.Event)
    """Set by the thread that Ctrl-C reaches: the others raise KeyboardInterrupt too, once their runs are ended."""

    def __call__(
        self,
        worlds: Sequence[tuple[World, Initial]],
        limits: Limits,
        folders: Sequence[Path],
        jobs: int | None = None,
        /,
        *,
        done: Done | None = None,
    ) -> list[Run]:
        def begin(world: World, folder: Path, initial: Trace | None, stop: threading.Event, first: Watch | None) -> Run:
            return self._run(world, limits, folder, initial, stop)

        return dispatch(worlds, folders, jobs or self.engine.at_once, begin, lambda: len(worlds), done)

    def _run(self, world: World, limits: Limits, folder: Path, initial: Trace | None, stop: threading.Event) -> Run:
        packed, notes = job.pack(world, limits, initial)
        lost: list[str] = []
        while True:
            try:
                answer = _answer(self.engine.submit(packed, world), (stop, self.interrupted))
            except Lost as error:
                lost.append(str(error))
                if len(lost) == TRIES:
                    raise UserError(f"{world.role} was lost {TRIES} times with its machine: {lost[-1]}") from None
                continue
            if self.interrupted.is_set():
                raise KeyboardInterrupt
            if answer is None:
                return _stopped(world, folder)
            run, machine = job.unpack(answer, world, folder)
            return replace(run, notes=(*notes, *run.notes), machine=machine, lost=tuple(lost))


def _answer(task: Task, stops: Sequence[threading.Event]) -> bytes | None:
    """None when one of `stops` is set before."""
    while not any(stop.is_set() for stop in stops):
        answer = task.result(POLL_SECONDS)
        if answer is not None:
            return answer
    task.cancel()
    return None


def _stopped(world: World, folder: Path) -> Run:
    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / "stdout.txt", folder / "stderr.txt"
    for path in paths:
        path.touch()
    return Run(world, Trace(folder / "trace"), "crashed", None, *paths, 0.0, f"{world.role}: {STOPPED}")
