"""Which of many files hold one of some byte strings: the inner loop of a scan, on several processors if that pays."""

from __future__ import annotations

import marshal
import os
import threading
from collections.abc import Sequence

FEW = 1500
"""Files that one process searches sooner than it makes another."""
_BLOCK = 1 << 18


def grep(paths: Sequence[str], needles: Sequence[bytes]) -> dict[int, str | None]:
    """The places in `paths` of the files that hold a needle, with None, and of those unreadable, with the reason."""
    shares = _shares(len(paths))
    children = [_begin(paths, needles, share) for share in shares[1:]]
    hits = _search(paths, needles, shares[0])
    for share, (child, pipe) in zip(shares[1:], children, strict=True):
        with open(pipe, "rb") as answer:
            said = answer.read()
        # A child that died left its share undone.
        hits.update(marshal.loads(said) if os.waitpid(child, 0)[1] == 0 and said else _search(paths, needles, share))
    return hits


def _shares(count: int) -> list[range]:
    """A range of places for each process. Neighbours lie in different shares: large files often come together."""
    processes = 1
    # With threads about, a copy of this process may hold a lock that nobody releases.
    if count >= 2 * FEW and hasattr(os, "fork") and threading.active_count() == 1:
        processes = max(1, min(os.cpu_count() or 1, count // FEW, 4))
    return [range(first, count, processes) for first in range(processes)]


def _begin(paths: Sequence[str], needles: Sequence[bytes], share: range) -> tuple[int, int]:
    """A copy of this process that searches one share; where its answer can be read.

    Forked by hand: only to import multiprocessing takes longer than a tenth of the whole search.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    code = 1
    try:
        with open(writing, "wb") as answer:
            answer.write(marshal.dumps(_search(paths, needles, share)))
        code = 0
    finally:
        os._exit(code)  # Nothing of what the parent has open or buffered is the child's to close.


def _search(paths: Sequence[str], needles: Sequence[bytes], share: range) -> dict[int, str | None]:
    hits: dict[int, str | None] = {}
    buffer = bytearray(_BLOCK)  # Nearly every file fits; to read into it saves an object a file.
    for place in share:
        try:
            data, size = buffer, _read_into(buffer, paths[place])
            if size == len(buffer):
                with open(paths[place], "rb") as file:
                    data = bytearray(file.read())
                size = len(data)
        except OSError as error:
            hits[place] = error.strerror or type(error).__name__
            continue
        for needle in needles:
            if data.find(needle, 0, size) >= 0:
                hits[place] = None
                break
    return hits


def _read_into(buffer: bytearray, path: str) -> int:
    """How many bytes of the file now stand at the beginning of `buffer`; all of it when that is less than its size."""
    # A third of the time of open(path, "rb").read(), which builds three objects a file.
    if not hasattr(os, "readv"):
        with open(path, "rb", buffering=0) as file:
            return file.readinto(buffer) or 0
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.readv(descriptor, (buffer,))
    finally:
        os.close(descriptor)
