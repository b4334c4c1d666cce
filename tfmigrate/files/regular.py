"""Reading regular files, and nothing else.

A path that looks like a source or a setting may be a pipe, which is waited on forever, a device such as /dev/zero,
which never ends, or a sparse file larger than the memory. Whatever the tool reads, it reads through here.
"""

from __future__ import annotations

import errno
import math
import os
import stat
from pathlib import Path

from tfmigrate.errors import UserError

LARGEST = 100 << 20
"""Bytes; more than GitHub takes of one file (its documentation, "About large files on GitHub": 100 MiB)."""

_READ = os.O_RDONLY | sum(getattr(os, flag, 0) for flag in ("O_BINARY", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC"))
_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def opened(path: str | os.PathLike[str], largest: float = LARGEST) -> int:
    """A descriptor of the regular file at `path`, which the caller closes; it is never waited for.

    Raises OSError, whose `strerror` says why: in plain words for what is no regular file, or has more than `largest`
    bytes.
    """
    try:
        descriptor = os.open(path, _READ)
    except OSError as error:
        if error.errno == errno.ENXIO:  # how a socket answers
            raise OSError(errno.EINVAL, what_is(os.stat(path).st_mode), os.fspath(path)) from None
        raise
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            number = errno.EISDIR if stat.S_ISDIR(state.st_mode) else errno.EINVAL
            raise OSError(number, what_is(state.st_mode), os.fspath(path))
        if state.st_size > largest:
            raise OSError(errno.EFBIG, f"larger than {int(largest) >> 20} MiB", os.fspath(path))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a regular file. Raises OSError, as `opened` does."""
    with open(opened(path), "rb") as file:
        return file.read()


def what_is(mode: int) -> str:
    """What a file of this mode is that is no regular one, in words: "a pipe, not a regular file"."""
    kind = "a folder" if stat.S_ISDIR(mode) else next((words for test, words in _KINDS if test(mode)), "something else")
    return f"{kind}, not a regular file"


def require(path: Path, largest: float = math.inf) -> None:
    """Raises UserError, which names the path, unless there is a regular file of at most `largest` bytes to read."""
    try:
        os.close(opened(path, largest))
    except FileNotFoundError:
        raise UserError(f"{path}: does not exist; check the spelling") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None


def lacking(path: Path) -> str | None:
    """Why there is no regular file to read at `path`; None when there is one."""
    try:
        os.close(opened(path))
    except OSError as error:
        return error.strerror or type(error).__name__
    return None
