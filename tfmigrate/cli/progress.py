"""How far a long run is, on a terminal: one line on stderr that goes when the run is over."""

from __future__ import annotations

import sys
import time
from types import TracebackType

PATIENCE = 1.0
"""Seconds after which a run is long."""
AGAIN = 0.1


class Progress:
    """As a context manager; called with how many programs of how many are done. Says nothing where stderr is no
    terminal."""

    def __init__(self, quiet: bool = False) -> None:
        self.shown = False
        self.next = time.monotonic() + PATIENCE
        self.silent = quiet or not sys.stderr.isatty()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def clear(self) -> None:
        """Take the line away; the next call writes it again."""
        if self.shown:
            self._write("")
            self.shown = False

    def __call__(self, done: int, of: int) -> None:
        now = time.monotonic()
        if not self.silent and now >= self.next:
            self.next, self.shown = now + AGAIN, True
            self._write(f"{done} of {of} programs")

    def _write(self, text: str) -> None:
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
