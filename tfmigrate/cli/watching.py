"""`check --watch`: the check again whenever a file that it looks at changes, comes or goes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from tfmigrate.cli.output import complain, say
from tfmigrate.errors import UserError
from tfmigrate.files import scan
from tfmigrate.settings import Settings

PAUSE = 0.5
"""Seconds between two looks at the files."""
_SHARE = 10
"""The pause is at least so many times as long as a look takes."""
Stamps = Mapping[str, tuple[int, int]]


def watch(
    report: Callable[[], object],
    paths: Callable[[], Sequence[str]],
    settings: Settings,
    sleep: Callable[[float], None] = time.sleep,
) -> NoReturn:
    """Report, and report again after each change; ends with KeyboardInterrupt.

    What the user has to fix, such as a path that is gone for a moment, is reported, and watching continues.
    """
    before: Stamps | None = None
    while True:
        started = time.monotonic()
        now = stamps(paths(), settings)
        if now != before:
            try:
                report()
            except UserError as error:
                complain(str(error))
            say(f"{time.strftime('%H:%M:%S')}: waiting for changes; Ctrl-C ends")
            before, started = now, time.monotonic()
        sleep(max(PAUSE, _SHARE * (time.monotonic() - started)))


def stamps(paths: Sequence[str], settings: Settings) -> Stamps:
    """When each file that a check of these paths reads was changed, in nanoseconds, and its size in bytes."""
    state = {}
    for path in scan.walked(paths, settings.exclude, settings.root):
        try:
            status = os.stat(path)
        except OSError:  # It went away meanwhile.
            continue
        state[path] = status.st_mtime_ns, status.st_size
    return state
