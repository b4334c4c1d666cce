"""Which of many files hold one of some byte strings: the inner loop of a scan, on several processors if that pays."""

from __future__ import annotations

import marshal
import os
import threading
from collections.abc import Callable, Sequence

from tfmigrate.files.regular import opened

FEW = 1500
"""Files that one process searches sooner than it makes another."""
_HANDFUL = 50
"""Files that Python searches sooner than a library for that is loaded."""
_BLOCK = 1 << 16  # Nearly every file fits. Room for twice as much is new from the system each time, which takes longer.


def grep(paths: Sequence[str], needles: Sequence[bytes]) -> dict[int, bytes | str]:
    """The places in `paths` of the files that hold a needle, with their bytes, and of unreadable ones, with the reason.

    An empty needle is in every file.
    """
    shares = _shares(len(paths))
    children = [_begin(paths, needles, share) for share in shares[1:]]
    hits = _search(paths, needles, shares[0])
    for share, (child, pipe) in zip(shares[1:], children, strict=True):
        with open(pipe, "rb") as answer:
            output = answer.read()
        # A child that died left its share undone.
        hits.update(
            marshal.loads(output) if os.waitpid(child, 0)[1] == 0 and output else _search(paths, needles, share)
        )
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


def _search(paths: Sequence[str], needles: Sequence[bytes], share: range) -> dict[int, bytes | str]:
    hits: dict[int, bytes | str] = {}
    holds_any = (_finder if len(share) >= _HANDFUL else _plain_finder)(needles)
    for place in share:
        try:
            data = _read(paths[place])
        except OSError as error:
            hits[place] = error.strerror or type(error).__name__
        else:
            if holds_any(data):
                hits[place] = data
    return hits


def _finder(needles: Sequence[bytes]) -> Callable[[bytes], object]:
    """Says of bytes whether they hold a needle: all needles in one pass, where `in` takes one for each."""
    if not all(needles):
        return lambda data: True
    try:
        from ahocorasick_rs import BytesAhoCorasick, MatchKind
    except ImportError:  # Windows on ARM has no wheel of it.
        return _plain_finder(needles)
    # The kind of match decides nothing here, but only the leftmost kinds use the processor's vector instructions.
    return BytesAhoCorasick(needles, MatchKind.LeftmostFirst).find_matches_as_indexes


def _plain_finder(needles: Sequence[bytes]) -> Callable[[bytes], object]:
    """As _finder, in Python alone."""
    return lambda data: any(needle in data for needle in needles)


def _read(path: str) -> bytes:
    # Half the time of open(path, "rb").read(), which makes three objects a file.
    descriptor = opened(path)
    try:
        data = os.read(descriptor, _BLOCK)
        if len(data) == _BLOCK:
            with open(descriptor, "rb", closefd=False) as file:
                data += file.read()
        return data
    finally:
        os.close(descriptor)
