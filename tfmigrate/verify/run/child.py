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


class Child:
    """One child in a session of its own; whatever it starts ends with it."""

    def __init__(self, command: Command, launch: Launch, scratch: Path, stdout: Path, stderr: Path) -> None:
        self.command, self.launch, self.scratch = command, launch, scratch
        self.paths = (stdout, stderr)
        self.copied = _size(scratch)
        """What lies there before the script starts, which no limit counts."""

    def wait(self, limits: Limits, stops: Sequence[threading.Event], look: Callable[[], None]) -> Ended:
        process = self.launch(self.command, stops)
        pumps = [
            threading.Thread(target=_keep, args=(pipe, path, limits.output_bytes), daemon=True)
            for pipe, path in zip((process.stdout, process.stderr), self.paths, strict=True)
        ]
        try:
            for pump in pumps:
                pump.start()
            reason = self._watch(process, limits, stops, look)
        finally:
            self._end(process)
            look()
            for pump in pumps:
                if pump.is_alive():
                    pump.join(GRACE_SECONDS)
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


def _keep(pipe: IO[bytes], path: Path, limit: int) -> None:
    """Keeps the first `limit` bytes of what the child prints, and reads on so that it is never blocked."""
    kept = 0
    with path.open("wb") as file:
        while chunk := pipe.read1(65536):  # type: ignore[attr-defined]
            if kept < limit:
                file.write(chunk[: limit - kept])
                file.flush()
                if kept + len(chunk) > limit:
                    file.write(b"\n[the rest was not kept]\n")
            kept += len(chunk)


def _size(folder: Path) -> int:
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(root, name)).st_size
            except OSError:
                continue
    return total
