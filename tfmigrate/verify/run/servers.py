"""Interpreters that import TensorFlow once and fork for each run (see probe/server.py).

To import TensorFlow takes longer than most runs train. What a fork inherits is what the import makes of the interpreter
and of the environment; so there is a server for each pair of them, without the variables in OF_ONE_RUN, which nothing
reads while it is imported. Where there is no server (outside Linux, an import that fails) a new interpreter is started.
"""

from __future__ import annotations

import array
import json
import os
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL
from typing import IO

from tfmigrate.verify.run.launch import Command, Process, fresh
from tfmigrate.verify.run.scratch import MARK

PROGRAM = Path(__file__).parents[1] / "probe" / "server.py"
OF_ONE_RUN = frozenset(["HOME", "TMPDIR", "TF_CONFIG", "CUDA_VISIBLE_DEVICES", MARK])
IMPORT_SECONDS = 300.0
POLL_SECONDS = 0.1
GRACE_SECONDS = 5.0
NUMBER = struct.Struct("=i")
LONGEST = 1 << 16
"""Bytes of a message; the socket's own limit is above."""

Key = tuple[Path, frozenset[tuple[str, str]]]


class Servers:
    """The servers of all runs within a `with`; they end with it. Several threads may start runs at a time."""

    def __init__(self) -> None:
        self._known: dict[Key, _Place] = {}
        self._lock = threading.Lock()
        self._closed = False

    def __enter__(self) -> Servers:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            places = list(self._known.values())
        for place in places:
            with place.lock:
                if place.server is not None:
                    place.server.close()

    def launch(self, command: Command, stops: Sequence[threading.Event] = (), /) -> Process:
        """Forks for a command; the first of its kind waits for the import. Raises OSError as `fresh` does."""
        place = self._place_of(command)
        if place is not None:
            with place.lock:
                if not place.tried and not self._closed:
                    place.tried = True
                    place.server = _Server.of(command, stops)
                process = place.server.fork(command) if place.server is not None else None
            if process is not None:
                return process
        return fresh(command, stops)

    def _place_of(self, command: Command) -> _Place | None:
        if not sys.platform.startswith("linux") or command.wrapper or _depends_on_folder(command.env):
            return None
        shared = frozenset((name, value) for name, value in command.env.items() if name not in OF_ONE_RUN)
        with self._lock:
            return self._known.setdefault((command.python, shared), _Place())


def _depends_on_folder(env: Mapping[str, str]) -> bool:
    """Modules are looked for relative to the folder that an interpreter is started in."""
    return "PYTHONPATH" in env and not all(map(os.path.isabs, env["PYTHONPATH"].split(os.pathsep)))


class _Place:
    """Where the server of one kind is, once it was tried to start it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.tried = False
        self.server: _Server | None = None


class _Server:
    def __init__(self, process: subprocess.Popen[bytes], channel: socket.socket, folder: Path) -> None:
        self.process, self.channel, self.folder = process, channel, folder

    @classmethod
    def of(cls, command: Command, stops: Sequence[threading.Event]) -> _Server | None:
        """None when the import fails, takes too long or is stopped."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        folder = Path(tempfile.mkdtemp(prefix="tfmigrate-server-"))
        own = {"HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"), MARK: "0" * len(command.env.get(MARK, ""))}
        env = {name: value for name, value in command.env.items() if name not in OF_ONE_RUN} | own
        (folder / "home").mkdir()
        (folder / "tmp").mkdir()
        with theirs:
            process = subprocess.Popen(
                [str(command.python), str(PROGRAM), str(theirs.fileno()), MARK],
                cwd=folder,
                env=env,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        server = cls(process, ours, folder)
        ready = False
        try:
            ready = server._is_ready(stops)
        finally:
            if not ready:
                process.kill()
                server.close()
        return server if ready else None

    def _is_ready(self, stops: Sequence[threading.Event]) -> bool:
        deadline = time.monotonic() + IMPORT_SECONDS
        while time.monotonic() < deadline and not any(stop.is_set() for stop in stops):
            if _readable(self.channel.fileno(), POLL_SECONDS):
                return bool(self.channel.recv(64))
        return False

    def fork(self, command: Command) -> Forked | None:
        """None if the server is gone, or the message is too large."""
        program, cwd = str(command.program), str(command.cwd)
        asked = {"program": program, "args": list(command.args), "cwd": cwd, "env": dict(command.env)}
        message = json.dumps(asked).encode()
        if len(message) > LONGEST:
            return None
        pipes = [os.pipe() for _ in range(3)]
        stdout, stderr, status = (read for read, _ in pipes)
        descriptors = array.array("i", [write for _, write in pipes])
        process = None
        try:
            ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors.tobytes())]
            self.channel.sendmsg([message], ancillary)
            for write in descriptors:
                os.close(write)
            descriptors = array.array("i")
            pid = _number(status)
            if pid is not None:
                process = Forked(pid, os.fdopen(stdout, "rb"), os.fdopen(stderr, "rb"), status)
        except OSError:
            process = None
        finally:
            for write in descriptors:
                os.close(write)
            if process is None:
                for read in (stdout, stderr, status):
                    os.close(read)
        return process

    def close(self) -> None:
        self.channel.close()
        try:
            self.process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Forked:
    """A process that a server forked; see launch.Process."""

    def __init__(self, pid: int, stdout: IO[bytes], stderr: IO[bytes], status: int) -> None:
        self.pid, self.stdout, self.stderr = pid, stdout, stderr
        self.returncode: int | None = None
        self._status = status

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not _readable(self._status, timeout):
                raise subprocess.TimeoutExpired("a fork", timeout or 0)
            number = _number(self._status)
            # A server that was killed tells nothing; what it ran may still run, and is ended by its session.
            self.returncode = -SIGKILL if number is None else number
            os.close(self._status)
        return self.returncode


def _readable(descriptor: int, timeout: float | None) -> bool:
    """Whether there is something to read, or the end, within `timeout` seconds."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(None if timeout is None else timeout * 1000))


def _number(descriptor: int) -> int | None:
    """What the server says next of a process; None when it says nothing any more."""
    data = os.read(descriptor, NUMBER.size)
    return int(NUMBER.unpack(data)[0]) if len(data) == NUMBER.size else None
