"""Where on the disk runs take place."""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

TEMPORARY, ELSEWHERE = Path("/tmp"), Path("/var/tmp")


def place() -> Path:
    """The folder for temporary files, but not /tmp where that can be helped: a run sees a /tmp of its own, and to lay
    that over the folders in the real one, one by one, takes some milliseconds each."""
    usual = Path(tempfile.gettempdir()).resolve()
    return ELSEWHERE if usual == TEMPORARY and ELSEWHERE.is_dir() and os.access(ELSEWHERE, os.W_OK) else usual


@functools.cache
def half_of_free() -> int:
    """Bytes there; found out once, so that all runs have the same limit."""
    return shutil.disk_usage(place()).free // 2


def make_scratch() -> Path:
    return Path(tempfile.mkdtemp(prefix="tfmigrate-scratch-", dir=place()))


def remove_scratch(scratch: Path) -> None:
    for work in (scratch / "layers").rglob("work/work"):  # the kernel's, which nobody may enter
        with suppress(OSError):
            work.chmod(0o700)
    shutil.rmtree(scratch, ignore_errors=True)
