"""How the process of a run is started: in an interpreter of its own here, or in a fork (see servers)."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol


@dataclass(frozen=True)
class Command:
    """`python program args`, in a folder and an environment; `program` is an absolute path."""

    python: Path
    program: Path
    args: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    wrapper: tuple[str, ...] = ()
    """The words of a program before it, which starts it in namespaces."""


class Process(Protocol):
    """What is asked of a started process, as subprocess.Popen answers it. It leads a session of its own, stdin is
    empty, stdout and stderr are pipes."""

    @property
    def pid(self) -> int: ...
    @property
    def stdout(self) -> IO[bytes] | None: ...
    @property
    def stderr(self) -> IO[bytes] | None: ...
    @property
    def returncode(self) -> int | None: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...


class Launch(Protocol):
    """Starts a process. When one of `stops` is set it does not wait for anything; what it answers is then ended."""

    def __call__(self, command: Command, stops: Sequence[threading.Event] = (), /) -> Process: ...


def fresh(command: Command, stops: Sequence[threading.Event] = (), /) -> subprocess.Popen[bytes]:
    """Starts a new interpreter. Raises OSError when it cannot be executed."""
    return subprocess.Popen(
        [*command.wrapper, str(command.python), str(command.program), *command.args],
        cwd=command.cwd,
        env=dict(command.env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
