"""Waiting for threads in a way that Ctrl-C ends."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from typing import TypeVar

Result = TypeVar("Result")
WAKE_SECONDS = 0.5


def results_of(futures: Sequence[Future[Result]]) -> list[Result]:
    """What they return, in their order, or the first exception that one raises.

    The main thread wakes now and then: the kernel may hand SIGINT to any thread, Python raises KeyboardInterrupt in
    the main one, and one that waits for a lock does not wake for a signal that another thread received.
    """
    while True:
        done, waiting = wait(futures, WAKE_SECONDS, FIRST_EXCEPTION)
        for future in done:
            if error := future.exception():
                raise error
        if not waiting:
            return [future.result() for future in futures]
