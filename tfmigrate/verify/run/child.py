"""A child process and all that it starts, held to limits of time, disk, memory, processes and output."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

import psutil

from tfmigrate.verify.run.launch import Command, Launch, Process
from tfmigrate.verify.run.scratch import MARK
from tfmigrate.verify.run.world import Limits

Reason = Literal["by itself", "time", "disk", "memory", "processes", "stopped"]
POLL_SECONDS = 0.1
LOOK_SECONDS = 0.5
GRACE_SECONDS = 5.0


@dataclass(frozen=True)
class Ended:
    exit_code: int | None
    reason: Reason


class Kept:
    """What a child prints, as a file of about `limit` bytes: the first half as they come, the last half once all is
    read, and between them a line that says how much was left out. About `limit` bytes are held in memory."""

    def __init__(self, pipe: IO[bytes], path: Path, limit: int) -> None:
        self.pipe, self.file = pipe, path.open("wb")
        self.head, self.tail = limit - limit // 2, limit // 2
        self.rest = bytearray()
        self.left_out = 0
        self.lock = threading.Lock()

    def read(self) -> None:
        """Reads to the end, whatever comes, so that the child is never blocked."""
        while chunk := self.pipe.read1(65536):  # type: ignore[attr-defined]
            with self.lock:
                if self.file.closed:
                    return
                if self.head:
                    self.file.write(chunk[: self.head])
                    self.file.flush()
                self.rest += chunk[self.head :]
                self.head = max(0, self.head - len(chunk))
                if len(self.rest) > 2 * self.tail:  # not at each read, for it moves all that stays
                    self._shorten()

    def close(self) -> None:
        """Writes the end; also where something that the child started still holds the pipe open."""
        with self.lock, self.file:
            self._shorten()
            if self.left_out:
                self.file.write(f"\n[... {self.left_out:,} bytes left out ...]\n".encode())
            self.file.write(self.rest)

    def _shorten(self) -> None:
        if len(self.rest) > self.tail:
            self.left_out += len(self.rest) - self.tail
            del self.rest[: len(self.rest) - self.tail]


class Child:
    """One child in a session of its own; whatever it starts ends with it."""

    def __init__(self, command: Command, launch: Launch, scratch: Path, stdout: Path, stderr: Path) -> None:
        self.command, self.launch, self.scratch = command, launch, scratch
        self.paths = (stdout, stderr)
        self.copied = _size(scratch)
        """What lies there before the script starts, which no limit counts."""

    def wait(self, limits: Limits, stops: Sequence[threading.Event], look: Callable[[], None]) -> Ended:
        process = self.launch(self.command, stops)
        assert process.stdout is not None
        assert process.stderr is not None
        pipes = zip((process.stdout, process.stderr), self.paths, strict=True)
        kept = [Kept(pipe, path, limits.output_bytes) for pipe, path in pipes]
        pumps = [threading.Thread(target=one.read, daemon=True) for one in kept]
        try:
            for pump in pumps:
                pump.start()
            reason = self._watch(process, limits, stops, look)
        finally:
            self._end(process)
            look()
            for pump, one in zip(pumps, kept, strict=True):
                if pump.is_alive():
                    pump.join(GRACE_SECONDS)
                one.close()
        return Ended(process.returncode if reason == "by itself" else None, reason)

    def _watch(
        self,
        process: Process,
        limits: Limits,
        stops: Sequence[threading.Event],
        look: Callable[[], None],
    ) -> Reason:
        deadline = time.monotonic() + limits.seconds
        next_look = 0.0
        while process.poll() is None:
            now = time.monotonic()
            if now > deadline:
                return "time"
            if any(stop.is_set() for stop in stops):
                return "stopped"
            if now > next_look:
                look()
                over = self._over(process, limits)
                if over is not None:
                    return over
                # A folder of many files takes long to look through: never more than a twentieth of the time.
                next_look = now + max(LOOK_SECONDS, 20 * (time.monotonic() - now))
            with suppress(subprocess.TimeoutExpired):
                process.wait(POLL_SECONDS)
        return "by itself"

    def _over(self, process: Process, limits: Limits) -> Reason | None:
        """Which limit the run is over."""
        if _size(self.scratch) - self.copied > limits.disk_bytes:
            return "disk"
        family = list(self._family(process))
        if len(family) > limits.processes:
            return "processes"
        if sum(map(_resident, family)) <= limits.memory_bytes:
            return None
        # Forked processes share pages, which each counts as its own; to know better takes longer.
        return "memory" if sum(map(_share, family)) > limits.memory_bytes else None

    def _family(self, process: Process) -> Iterator[psutil.Process]:
        """The child and what it started: in its session, or marked as this run's."""
        for one in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                ours = os.getsid(one.pid) == process.pid or one.environ().get(MARK) == self.command.env[MARK]
                if ours and one.status() != psutil.STATUS_ZOMBIE:
                    yield one

    def _end(self, process: Process) -> None:
        """Ends the child and everything it started: politely, then not."""
        for how in (signal.SIGTERM, signal.SIGKILL):
            family = list(self._family(process))
            for one in family:
                with suppress(psutil.Error):
                    one.send_signal(how)
            psutil.wait_procs([one for one in family if one.pid != process.pid], GRACE_SECONDS)
            with suppress(subprocess.TimeoutExpired):
                process.wait(GRACE_SECONDS if family else None)
        process.wait()


def _share(process: psutil.Process) -> int:
    """Resident bytes, a page of several processes shared out among them where the system tells."""
    try:
        full = process.memory_full_info()
    except psutil.Error:
        return _resident(process)
    return int(getattr(full, "pss", full.uss))


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def _size(folder: Path) -> int:
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(root, name)).st_size
            except OSError:
                continue
    return total
