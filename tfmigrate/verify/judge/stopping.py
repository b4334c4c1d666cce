"""What ends a verification before its own end: Ctrl-C, a signal, the time limit. What is known by then is reported."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from tfmigrate.errors import UserError


class OutOfTime(BaseException):
    """The time limit of the whole verification is over. Like KeyboardInterrupt no Exception, so that nothing between
    the runs and the judge takes it for a run's own failure."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raises OutOfTime in the main thread after so many seconds; None for no limit.

    A signal, so that it ends a wait for runs as Ctrl-C does. Raises UserError where there are no such signals.
    """
    if seconds is None:
        yield
        return
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        raise UserError("--time-limit needs timers that this system does not have; use --timeout for each run")

    def over(number: int, frame: FrameType | None) -> NoReturn:
        raise OutOfTime(f"the time limit of {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def cause_of(stop: BaseException) -> str:
    """ "Ctrl-C or a signal", or which limit."""
    return str(stop) if isinstance(stop, OutOfTime) else "Ctrl-C or a signal"
