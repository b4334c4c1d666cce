"""No program holds up the others: each has a time to be done in, and what takes longer, or dies, is reported.

The time is the processor's, so that a busy machine ends nothing early; what lasts far longer by the clock, as it waits
for something, is ended too. A few programs are worked on in this process, under alarms of the system. Many, or any
where there are no such alarms (Windows, a thread), are given to processes of their own, which are ended by the system
or killed from outside: that also ends what no alarm can interrupt.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

Task = TypeVar("Task")
Done = TypeVar("Done")

_AGAIN = 1.0
"""Seconds after which the alarm rings again, should the first have been lost in code that swallows exceptions."""
_PATIENCE = 10
"""A task may last so many times its seconds by the clock, should other programs need the processor."""
_SPENT = 75
"""Exit status of a worker that ended itself, its time being up, where the system does not end it."""
_LOOK = 0.05
"""Seconds between two looks of such a worker at the time that it has taken."""
_GRACE = 5
"""Seconds after which a worker ends by itself, should the process that has to end it be gone."""
_FAREWELL = 1.0
"""Seconds that an idle worker is given to end."""


class TimeIsUp(BaseException):
    """Raised by the alarm in whatever runs then; no Exception, so that nothing takes it for one of its own."""


@dataclass(frozen=True)
class Late:
    """Why there is no outcome: `seconds` of processor time were used up, or passed by the clock where it `waited`."""

    seconds: float
    waited: bool = False


@dataclass(frozen=True)
class Died:
    """Why there is no outcome: the process that worked on it ended; `code` as in subprocess (-11: signal 11)."""

    code: int | None


def run(
    work: Callable[[Task], Done],
    tasks: Sequence[Task],
    failed: Callable[[Task, Late | Died], Done],
    *,
    seconds: float,
    processes: int,
    tell: Callable[[int, int], None] | None = None,
) -> list[Done]:
    """The outcome of `work` for each task, in order; that of `failed` where it died or took too long. `tell` receives,
    as they are done, how many of how many are.

    Too long is more than `seconds` of processor time, or ten times as much by the clock.

    With one process all is done in this one, where the system has an alarm for it. With more, `work` is one that a new
    interpreter can import.
    """
    tell = tell or _nobody
    if processes <= 1 and can_interrupt():
        done = []
        for task in tasks:
            done.append(_alone(work, task, failed, seconds))
            tell(len(done), len(tasks))
        return done
    return _Workers(work, tasks, failed, seconds, min(max(1, processes), len(tasks)), tell).run()


def _nobody(done: int, of: int) -> None:
    """Nobody asked."""


def can_interrupt() -> bool:
    """Whether an alarm can end what runs in this thread."""
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


def _alone(
    work: Callable[[Task], Done], task: Task, failed: Callable[[Task, Late | Died], Done], seconds: float
) -> Done:
    over = False
    late = {signal.SIGPROF: Late(seconds), signal.SIGALRM: Late(seconds * _PATIENCE, waited=True)}
    rung: list[Late] = []

    def ring(number: int, frame: object) -> None:
        if not over:
            rung.append(late[signal.Signals(number)])
            raise TimeIsUp

    before = {number: signal.signal(number, ring) for number in late}
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds, _AGAIN)
        signal.setitimer(signal.ITIMER_REAL, seconds * _PATIENCE, _AGAIN)
        done = work(task)
        over = True
        return done
    except TimeIsUp:
        over = True
        return failed(task, rung[0])
    finally:
        over = True
        for timer in (signal.ITIMER_PROF, signal.ITIMER_REAL):
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass
class _Worker:
    """A process, the pipe to it, and the task that it works on."""

    process: BaseProcess
    pipe: Connection
    task: int | None = None
    deadline: float = float("inf")


@dataclass
class _Workers(Generic[Task, Done]):
    work: Callable[[Task], Done]
    tasks: Sequence[Task]
    failed: Callable[[Task, Late | Died], Done]
    seconds: float
    processes: int
    tell: Callable[[int, int], None]
    _outcomes: dict[int, Done] = field(default_factory=dict)
    _next: int = 0

    def run(self) -> list[Done]:
        workers: list[_Worker] = []
        try:
            while len(self._outcomes) < len(self.tasks):
                while len(workers) < self.processes and self._next < len(self.tasks):
                    workers.append(_started(self.work, self.seconds))
                    self._give(workers[-1])
                ready = self._ready(workers)
                workers = [worker for worker in workers if self._is_kept(worker, ready)]
                self.tell(len(self._outcomes), len(self.tasks))
        finally:
            for worker in workers:
                worker.pipe.close()  # An idle one ends then.
            for worker in workers:
                worker.process.join(_FAREWELL if worker.task is None else 0)
                _end(worker)
        return [self._outcomes[number] for number in range(len(self.tasks))]

    def _give(self, worker: _Worker) -> None:
        """The next task, if one is left."""
        if self._next == len(self.tasks):
            worker.task, worker.deadline = None, float("inf")
            return
        worker.task, worker.deadline = self._next, time.monotonic() + self.seconds * _PATIENCE
        self._next += 1
        with suppress(OSError):  # It died: the next look at it says so.
            worker.pipe.send(self.tasks[worker.task])

    def _ready(self, workers: Sequence[_Worker]) -> Sequence[object]:
        """Waits until something is heard of a worker, or the time of one is up."""
        from multiprocessing.connection import wait

        busy = [worker for worker in workers if worker.task is not None]
        left = min(worker.deadline for worker in busy) - time.monotonic()
        return wait([worker.pipe for worker in busy], max(0, left))

    def _is_kept(self, worker: _Worker, ready: Sequence[object]) -> bool:
        """Whether a worker can do more; what it did, or why it did not, is noted."""
        if worker.task is None:
            return True
        problem: Late | Died
        if worker.pipe in ready:
            try:
                self._outcomes[worker.task] = worker.pipe.recv()
            except (EOFError, OSError):
                worker.process.join(_FAREWELL)
                spent = worker.process.exitcode in (_SPENT, -getattr(signal, "SIGPROF", -_SPENT))
                problem = Late(self.seconds) if spent else Died(worker.process.exitcode)
            else:
                self._give(worker)
                return True
        elif time.monotonic() >= worker.deadline:
            problem = Late(self.seconds * _PATIENCE, waited=True)
        else:
            return True
        self._outcomes[worker.task] = self.failed(self.tasks[worker.task], problem)
        _end(worker)
        return False


def _started(work: Callable[[Any], Any], seconds: float) -> _Worker:
    import multiprocessing  # Late: a run without many hits starts no process.

    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_serve, args=(work, theirs, seconds), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _end(worker: _Worker) -> None:
    worker.process.kill()
    worker.process.join()
    worker.pipe.close()


def _serve(work: Callable[[Any], Any], pipe: Connection, seconds: float) -> None:
    """What a worker does: one task after the other, until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the process that started this one, which ends it.
    while True:
        try:
            task = pipe.recv()
        except (EOFError, OSError):
            return
        with _own_end(seconds):
            pipe.send(work(task))


@contextmanager
def _own_end(seconds: float) -> Iterator[None]:
    """This process ends once it has taken the time of a task; also if that which has to kill it is gone."""
    if not hasattr(signal, "setitimer"):
        over = threading.Event()
        threading.Thread(target=_end_when_spent, args=(time.process_time() + seconds, over), daemon=True).start()
        yield
        over.set()
        return
    last = seconds * _PATIENCE + _GRACE
    timers = ((signal.ITIMER_PROF, signal.SIGPROF, seconds), (signal.ITIMER_REAL, signal.SIGALRM, last))
    for timer, number, limit in timers:
        signal.signal(number, signal.SIG_DFL)
        signal.setitimer(timer, limit)
    yield
    for timer, _, _ in timers:
        signal.setitimer(timer, 0)


def _end_when_spent(limit: float, over: threading.Event) -> None:
    """What ends a process where the system has no timers: `limit` is what its processor time may come to."""
    while not over.wait(_LOOK):
        if time.process_time() >= limit:
            os._exit(_SPENT)
