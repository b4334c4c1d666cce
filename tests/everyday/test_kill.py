"""SIGKILL at any moment of a write: each file is whole, old or new, and the next run finishes the work.

TFMIGRATE_KILLS sets how often the program is killed at a random moment; `make reliability` asks for 500.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.conftest import ROOT
from tfmigrate.files import write

pytestmark = pytest.mark.starts_processes

KILLS = int(os.environ.get("TFMIGRATE_KILLS", "10"))
NAMES = ("a.py", "b.py", "c.py")
OLD = {name: f"old {name}\n".encode() * 5000 for name in NAMES}
NEW = {name: f"the new {name}\n".encode() * 7000 for name in NAMES}


def whole(folder: Path, old: dict[str, bytes], new: dict[str, bytes]) -> int:
    """How many files are new; fails when one is neither old nor new."""
    state = {name: (folder / name).read_bytes() for name in old}
    torn = [name for name, data in state.items() if data not in (old[name], new[name])]
    assert not torn
    return sum(data == new[name] for name, data in state.items())


def in_child(action: Callable[[], object]) -> int:
    """The wait status of a forked copy of this process that did `action`."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            action()
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1]


def write_and_die(changes: list[write.Change], step: int) -> None:
    """Make the changes, but be killed just before or after the `step`-th call into the system (or Python's own C)."""
    count = 0

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        if event in ("c_call", "c_return"):
            if count == step:
                os.kill(os.getpid(), signal.SIGKILL)
            count += 1

    sys.setprofile(watch)
    write.replace(changes)
    sys.setprofile(None)


@pytest.mark.parametrize("names", [NAMES[:1], NAMES])
def test_killed_at_every_step(tmp_path: Path, names: tuple[str, ...]) -> None:
    seen = set()
    for step in range(5000):
        for name in names:
            (tmp_path / name).write_bytes(OLD[name])
        changes = [write.Change(str(tmp_path / name), OLD[name], NEW[name]) for name in names]
        status = in_child(lambda changes=changes, step=step: write_and_die(changes, step))  # type: ignore[misc]
        old, new = ({name: data[name] for name in names} for data in (OLD, NEW))
        seen.add(whole(tmp_path, old, new))
        if not os.WIFSIGNALED(status):
            assert os.WEXITSTATUS(status) == 0
            break
    assert step > 100 * len(names)
    assert seen == set(range(len(names) + 1))
    for name in names:
        (tmp_path / name).write_bytes(OLD[name])
    write.replace(changes)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


def test_an_error_at_every_step_undoes_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changes = [write.Change(str(tmp_path / name), OLD[name], NEW[name]) for name in NAMES]
    for name in NAMES:
        (tmp_path / name).write_bytes(OLD[name])
    real, failed = os.replace, 0
    for at in range(len(NAMES)):
        calls = iter(range(100))

        def failing(source: str, target: str, at: int = at, calls: Any = calls) -> None:
            if next(calls) == at:
                raise OSError(28, "No space left on device")
            real(source, target)

        monkeypatch.setattr(os, "replace", failing)
        with pytest.raises(write.WriteError, match="No space left"):
            write.replace(changes)
        failed += 1
        assert whole(tmp_path, OLD, NEW) == 0
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted(NAMES)
    assert failed == 3


def test_the_program_killed_at_random_moments(tmp_path: Path) -> None:
    source = (ROOT / "fixtures" / "base_parallel" / "before" / "train.py").read_bytes()
    names = [f"train{number}.py" for number in range(3)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tfmigrate", "fix", "--jobs", "1", "."]

    def fill() -> None:
        for name in names:
            (tmp_path / name).write_bytes(source)

    fill()
    start = time.perf_counter()
    subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True)
    needed = time.perf_counter() - start
    old, new = dict.fromkeys(names, source), {name: (tmp_path / name).read_bytes() for name in names}
    assert new[names[0]] != source
    moments, killed = random.Random(7), 0
    while killed < KILLS:
        fill()
        child = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(moments.uniform(0.5, 1.0) * needed)
        child.kill()
        if child.wait() == -signal.SIGKILL:
            killed += 1
        else:
            needed *= 0.9  # It was done before: the machine got faster since the first run.
        whole(tmp_path, old, new)
    subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True)
    assert whole(tmp_path, old, new) == len(names)
