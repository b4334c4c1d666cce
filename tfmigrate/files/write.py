"""Replace files so that a crash at any moment leaves each one old or new, never torn."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tfmigrate.errors import UserError
from tfmigrate.files import regular

SUFFIX = ".tfmigrate"
"""How the names of unfinished copies end."""
_ROOM = 200
"""Bytes of a name to which more may be added: most file systems take 255."""


class WriteError(UserError):
    """A file cannot be replaced; it and those of the same transaction are as they were. `path` is the one at fault."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


@dataclass(frozen=True)
class Change:
    """`path` is a real path (no link in it) whose bytes were `before` when they were read."""

    path: str
    before: bytes
    after: bytes


def replace(changes: Sequence[Change]) -> None:
    """Make all `changes`, or none: files that only work together go in one call.

    Each new file is written beside the old one, flushed to disk and renamed over it, with the old one's mode, owner
    (where the system allows) and extended attributes. A file with several hard links gets a file of its own, as with
    git and sed -i: the other names keep the old text. A run that was killed may leave a copy beside a file, of a name
    that nothing reads (`.train.py.*.tfmigrate`); the next one that writes this file removes it. Raises WriteError.
    """
    staged: list[tuple[Change, str]] = []
    done: list[Change] = []
    try:
        for change in changes:
            _check(change)
            _remove_leftovers(change.path)
            staged.append((change, _stage(change.path, change.after)))
        for change, temporary in staged:
            _rename(temporary, change.path)
            done.append(change)
    except BaseException:
        _undo(done)
        raise
    finally:
        for _, temporary in staged:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)


def _check(change: Change) -> None:
    path = change.path
    try:
        current = regular.read(path)
        mode = os.stat(path).st_mode
    except OSError as error:
        raise WriteError(path, f"cannot be read again before writing: {error.strerror}") from None
    if current != change.before:
        raise WriteError(path, "another program changed it in the meantime; left as it is; run tfmigrate again")
    # The mode says it too, because os.access grants root everything.
    if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(path, os.W_OK):
        raise WriteError(path, "is read-only; left as it is; make it writable (chmod u+w) and run tfmigrate again")


def _remove_leftovers(path: str) -> None:
    folder, name = os.path.split(path)
    with contextlib.suppress(OSError):
        for other in os.listdir(folder):
            if other.startswith(_begins(name)) and other.endswith(SUFFIX):
                os.unlink(os.path.join(folder, other))


def _begins(name: str) -> str:
    """How the names of unfinished copies of a file begin; one whose name leaves no room for more has a short one."""
    data = os.fsencode(name)
    return f".{name}." if len(data) < _ROOM else f".{hashlib.sha256(data).hexdigest()}."


def _stage(path: str, data: bytes) -> str:
    """A finished copy beside `path`, on disk."""
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f"{_begins(name)}{os.getpid()}{SUFFIX}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    except OSError as error:
        raise WriteError(path, f"cannot be replaced: folder {folder}: {error.strerror}") from None
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            _copy_attributes(path, file.fileno())
            file.flush()
            os.fsync(file.fileno())
    except BaseException as error:
        os.unlink(temporary)
        if isinstance(error, OSError):
            raise WriteError(path, f"cannot be written: {error.strerror}; left as it is") from None
        raise
    return temporary


def _copy_attributes(path: str, descriptor: int) -> None:
    old = os.stat(path)
    if hasattr(os, "fchown"):
        # Another owner can be given by root alone; the group often by anyone in it.
        for owner, group in ((old.st_uid, -1), (-1, old.st_gid)):
            with contextlib.suppress(PermissionError):
                os.fchown(descriptor, owner, group)
    if hasattr(os, "listxattr"):
        with contextlib.suppress(OSError):
            for name in os.listxattr(path):
                with contextlib.suppress(OSError):
                    os.setxattr(descriptor, name, os.getxattr(path, name))
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode))  # Last: a new owner clears the set-uid bits.


def _rename(temporary: str, path: str) -> None:
    try:
        os.replace(temporary, path)
    except OSError as error:
        raise WriteError(path, f"cannot be replaced: {error.strerror}; left as it is") from None
    _flush_folder(os.path.dirname(path))


def _flush_folder(folder: str) -> None:
    # Systems where a folder cannot be opened (Windows) keep the rename in their own journal.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _undo(done: Sequence[Change]) -> None:
    for change in reversed(done):
        _rename(_stage(change.path, change.before), change.path)


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A place beside `path` to write a new file to, which becomes `path` when the block ends well and else goes.

    Raises WriteError when there is something at `path` already, or the folder takes no file.
    """
    if os.path.lexists(path):
        raise WriteError(str(path), f"{path}: already exists; remove it, or choose another name")
    temporary = path.with_name(f"{_begins(path.name)}{os.getpid()}{SUFFIX}")
    try:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    except OSError as error:
        raise WriteError(str(path), f"{path}: cannot be written: folder {path.parent}: {error.strerror}") from None
    try:
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        _rename(str(temporary), str(path))
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
