"""How far this system can keep runs from what is not theirs, and the level that is taken (see probe/confine.py)."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tfmigrate.errors import UserError
from tfmigrate.verify.run.disk import make_scratch, remove_scratch

Level = Literal["namespaces", "bubblewrap", "landlock", "none"]
Asked = Literal["auto", "namespaces", "bubblewrap", "landlock", "none"]
CHECK = Path(__file__).parents[1] / "probe" / "check.py"
SECONDS = 60.0
TEMPORARY = "/tmp"
MANY = 5000
"""Files in /tmp that are shown to a run one by one at most."""
ACCELERATORS = ("nvidia*", "dri", "kfd", "dxg", "accel*", "vfio", "infiniband")
"""As probe/mounts.py has them."""


@dataclass(frozen=True)
class Sandbox:
    level: Level
    weaker: str = ""
    """Why no stronger level was taken; empty where this is the strongest, or the one that was asked for."""


@functools.cache
def choose(asked: Asked) -> Sandbox:
    """The strongest level that this system has, or the one asked for.

    Namespaces come before bubblewrap, which promises the same: a run in them is forked from a process that has
    imported TensorFlow, and bubblewrap can only start a new interpreter. Raises UserError when the level asked for
    cannot be had.
    """
    if asked == "none" or not sys.platform.startswith("linux"):
        if asked not in ("auto", "none"):
            raise UserError(f"--sandbox {asked}: only available on Linux")
        return Sandbox("none")
    tried: dict[Level, str] = {"namespaces": "", "bubblewrap": "", "landlock": ""}
    for level in tried if asked == "auto" else (asked,):
        problem = _missing(level)
        if not problem:
            return Sandbox(level, "; ".join(f"no {name}: {why}" for name, why in tried.items() if why))
        tried[level] = problem
    if asked != "auto":
        raise UserError(f"--sandbox {asked}: {tried[asked]}; --sandbox auto uses what this system has")
    return Sandbox("landlock", "; ".join(f"no {name}: {why}" for name, why in tried.items()))


def _missing(level: Level) -> str:
    """What keeps this system from having a level; empty when it has it."""
    folder = make_scratch()
    try:
        (folder / "tmp").mkdir()
        command = [sys.executable, "-E", "-s", str(CHECK), level, str(folder)]
        if level == "bubblewrap":
            if shutil.which("bwrap") is None:
                return "bwrap is not installed"
            command = [*bubblewrap(folder, folder), *command]
        try:
            done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=SECONDS)
            answer = json.loads(done.stdout)
        except subprocess.TimeoutExpired:
            return f"it was not ready after {SECONDS:g} seconds"
        except ValueError:
            return (done.stderr.strip().splitlines() or [f"it ended with exit code {done.returncode}"])[-1]
    finally:
        remove_scratch(folder)
    if level in ("namespaces", "bubblewrap"):
        return "" if level in answer["holds"] else "; ".join(answer["left"])
    return "" if "Landlock" in answer["holds"] else answer["left"][-1]


def bubblewrap(scratch: Path, output: Path) -> tuple[str, ...]:
    """The words before a command that is to see everything, and to write to two folders alone. /tmp is kept in
    scratch/tmp; what lies in the real one is there to be read."""
    words = ["bwrap", "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--ro-bind", "/", "/", "--dev", "/dev"]
    for pattern in ACCELERATORS:
        for device in sorted(Path("/dev").glob(pattern)):
            words += ["--dev-bind-try", str(device), str(device)]
    words += ["--tmpfs", "/dev/shm", "--proc", "/proc"]
    for path in Path("/proc").iterdir():
        if not path.name.isdigit() and not path.is_symlink() and (path.is_dir() or path.stat().st_mode & 0o222):
            words += ["--ro-bind-try", str(path), str(path)]  # the kernel's settings
    names = os.listdir(TEMPORARY)
    if len(names) <= MANY:
        words += ["--bind", str(scratch / "tmp"), TEMPORARY]
        for name in names:
            words += ["--ro-bind-try", f"{TEMPORARY}/{name}", f"{TEMPORARY}/{name}"]
    for place in (scratch.resolve(), output.resolve()):
        words += ["--bind", str(place), str(place)]
    return tuple(words)
