"""A child process and all that it starts, held to limits of time, disk, memory, processes and output."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

import psutil

from tfmigrate.verify.run import cgroups
from tfmigrate.verify.run.launch import Command, Launch, Process
from tfmigrate.verify.run.scratch import MARK
from tfmigrate.verify.run.together import Resource, Together, Use
from tfmigrate.verify.run.world import Limits

Reason = Literal["by itself", "time", "still", "stopped"] | Resource
POLL_SECONDS = 0.1
LOOK_SECONDS = 0.5
GRACE_SECONDS = 5.0
END_SECONDS = 0.02
MOST_TRIES = 100
STILL_SHARE = 0.01
"""Of one processor: a run that uses less stands still. A deadlock uses none, a poll twenty times a second 0.1%."""
SHARED_MEMORY = "dev/shm"


@dataclass(frozen=True)
class Ended:
    exit_code: int | None
    reason: Reason
    beside: int = 0
    """Runs that went on at the same time, where a limit for all of them was the reason."""


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

    def __init__(
        self,
        command: Command,
        launch: Launch,
        scratch: Path,
        stdout: Path,
        stderr: Path,
        together: Together,
        group: Path | None = None,
    ) -> None:
        self.command, self.launch, self.scratch = command, launch, scratch
        self.paths = (stdout, stderr)
        self.together = together
        self.group = group
        """Of cgroup v2, which the child joins."""
        self.copied = _size(scratch)
        """What lies there before the script starts, which no limit counts."""
        self.since = self.used_since = 0.0
        """When it last had used its share of the processor's time, and the seconds that it had used by then."""

    def wait(self, limits: Limits, stops: Sequence[threading.Event], look: Callable[[], None]) -> Ended:
        process = self.launch(self.command, stops)
        assert process.stdout is not None
        assert process.stderr is not None
        pipes = zip((process.stdout, process.stderr), self.paths, strict=True)
        outputs = [Kept(pipe, path, limits.output_bytes) for pipe, path in pipes]
        pumps = [threading.Thread(target=output.read, daemon=True) for output in outputs]
        reason: Reason = "stopped"
        beside = 0
        crowd = _Crowd(process, limits.processes)
        try:
            for thread in (*pumps, crowd):
                thread.start()
            reason = self._watch(process, limits, stops, look, crowd)
        finally:
            crowd.over.set()
            beside = self.together.beside(self)
            self._end(process, polite=reason != "processes", apart=crowd.root is not None)
            self.together.forget(self)
            look()
            for pump, one in zip(pumps, outputs, strict=True):
                if pump.is_alive():
                    pump.join(GRACE_SECONDS)
                one.close()
        if reason == "by itself" and self.group is not None and cgroups.ran_out_of_memory(self.group):
            reason = "memory"
        return Ended(self._exit_code(process) if reason == "by itself" else None, reason, beside)

    def _exit_code(self, process: Process) -> int | None:
        """bwrap ends with 128 and the number of the signal that a program ended by."""
        code = process.returncode
        return 128 - code if self.command.wrapper and code is not None and code > 128 else code

    def _watch(
        self,
        process: Process,
        limits: Limits,
        stops: Sequence[threading.Event],
        look: Callable[[], None],
        crowd: _Crowd,
    ) -> Reason:
        self.since = time.monotonic()
        deadline = self.since + limits.seconds
        next_look = 0.0
        while process.poll() is None:
            now = time.monotonic()
            if now > deadline:
                return "time"
            if any(stop.is_set() for stop in stops):
                return "stopped"
            if now > next_look:
                begun = time.thread_time()
                look()
                family = self._family(process)
                over = self._over(family, crowd.root)
                if over is not None:
                    return over
                if self._stands_still(family, limits.still_seconds):
                    return "still"
                # A folder of many files takes long to look through: never more than a twentieth of the time. Of the
                # processor's time, lest a run that keeps all processors busy is hardly looked at.
                next_look = time.monotonic() + max(LOOK_SECONDS, 20 * (time.thread_time() - begun))
            with suppress(subprocess.TimeoutExpired):
                process.wait(POLL_SECONDS)
        return "processes" if crowd.ended_it else "by itself"

    def _stands_still(self, family: Sequence[psutil.Process], seconds: float) -> bool:
        now, used = time.monotonic(), sum(map(_processor_seconds, family))
        if abs(used - self.used_since) > STILL_SHARE * seconds:  # what a process had used goes with it
            self.since, self.used_since = now, used
        return now - self.since > seconds

    def _over(self, family: Sequence[psutil.Process], root: Path | None) -> Resource | None:
        """Which limit of all runs this one is to end for. `root`: / as the script sees it, where that is another."""
        shared = _shared_memory(root) if root else 0
        use = Use(
            disk=_size(self.scratch) - self.copied,
            memory=sum(map(_resident, family)) + shared,
            processes=len(family),
        )
        return self.together.report(self, use, lambda: _exact_memory(family, shared))

    def _family(self, process: Process) -> list[psutil.Process]:
        """The child and what it started: what descends from it, is in its session, or is marked as this run's."""
        parents: dict[psutil.Process, int] = {}
        for candidate in psutil.process_iter():
            with suppress(psutil.Error):
                parents[candidate] = candidate.ppid()
        children: dict[int, list[psutil.Process]] = {}
        for one, parent in parents.items():
            children.setdefault(parent, []).append(one)
        family = {member for member in parents if member.pid == process.pid or self._is_ours(member, process)}
        pending = list(family)
        while pending:
            for child in children.get(pending.pop().pid, ()):
                if child not in family:
                    family.add(child)
                    pending.append(child)
        return [member for member in family if _is_alive(member)]

    def _is_ours(self, candidate: psutil.Process, process: Process) -> bool:
        with suppress(psutil.Error, OSError):
            return os.getsid(candidate.pid) == process.pid or candidate.environ().get(MARK) == self.command.env[MARK]
        return False

    def _end(self, process: Process, polite: bool, apart: bool) -> None:
        """Ends the child and everything it started: politely, then not. `apart`: it has namespaces, in which all ends
        with their first process, and that with the child."""
        for how in (signal.SIGTERM, signal.SIGKILL) if polite else (signal.SIGKILL,):
            if apart and how == signal.SIGKILL and process.poll() is None:
                os.kill(process.pid, how)  # before looking for the others, for which a fork bomb leaves no time
            # Otherwise the child comes last: it adopts what loses its parent, and ends that too.
            family = [member for member in self._family(process) if member.pid != process.pid]
            for member in family:
                with suppress(psutil.Error):
                    member.send_signal(how)
            _wait_for(family, GRACE_SECONDS)
            with suppress(subprocess.TimeoutExpired):
                process.wait(GRACE_SECONDS)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        process.wait()


def _wait_for(family: Sequence[psutil.Process], seconds: float) -> None:
    """Until all are dead, whether or not anyone has asked how they ended."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and any(map(_is_alive, family)):
        time.sleep(END_SECONDS)


def _is_alive(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    return False


def _root_inside(family: Sequence[psutil.Process]) -> Path | None:
    """/ as those of a run see it who have a /proc of their own."""
    for process in family:
        root = Path(f"/proc/{process.pid}/root")
        with suppress(OSError):
            if (root / "proc").stat().st_dev != os.stat("/proc").st_dev:
                return root
    return None


class _Crowd(threading.Thread):
    """Ends a run that has too many processes by looking at its own /proc alone: to look at each of them takes time
    that a fork bomb does not leave."""

    def __init__(self, process: Process, allowed: int) -> None:
        super().__init__(daemon=True)
        self.process, self.allowed = process, allowed
        self.over = threading.Event()
        self.ended_it = False
        self.root: Path | None = None
        """/ as the script sees it, once that is another."""

    def run(self) -> None:
        tries = 0
        while not self.over.wait(POLL_SECONDS):
            if self.root is None:
                tries += 1
                with suppress(psutil.Error):
                    self.root = _root_inside(psutil.Process(self.process.pid).children(recursive=True))
                if tries > MOST_TRIES:  # it has no namespaces
                    return
            elif self._count(self.root) > self.allowed and self.process.returncode is None:
                self.ended_it = True
                with suppress(OSError):
                    os.kill(self.process.pid, signal.SIGKILL)
                return

    @staticmethod
    def _count(root: Path) -> int:
        with suppress(OSError):
            return sum(name.isdigit() for name in os.listdir(root / "proc"))
        return 0


def _shared_memory(root: Path) -> int:
    """Bytes in the /dev/shm of a run that has its own."""
    with suppress(OSError):
        path = root / SHARED_MEMORY
        if path.stat().st_dev != os.stat("/dev/shm").st_dev:
            state = os.statvfs(path)
            return (state.f_blocks - state.f_bfree) * state.f_frsize
    return 0


def _exact_memory(family: Sequence[psutil.Process], shared: int) -> int:
    """Resident bytes, a page of several processes shared out among them where the system tells, and what lies in
    /dev/shm and is not mapped."""
    parts = [_share(member) for member in family]
    return sum(mine for mine, _ in parts) + max(0, shared - sum(mapped for _, mapped in parts))


def _share(process: psutil.Process) -> tuple[int, int]:
    """Resident bytes of a process, and those of them that are shared memory."""
    with suppress(OSError, ValueError, KeyError):
        lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()[1:]
        sizes = {name: int(size.split()[0]) << 10 for name, _, size in (line.partition(":") for line in lines)}
        return sizes["Pss"], sizes.get("Pss_Shmem", 0)
    try:
        full = process.memory_full_info()
    except psutil.Error:
        return _resident(process), 0
    return int(getattr(full, "pss", full.uss)), 0


def _processor_seconds(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)


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
