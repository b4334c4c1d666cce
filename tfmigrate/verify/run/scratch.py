"""The folder a run takes place in: a copy of the program, a home and a place for temporary files of its own."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tfmigrate.files.installed import is_installed
from tfmigrate.files.regular import what_is
from tfmigrate.verify.run import devices
from tfmigrate.verify.run.runtimes import KERAS_2
from tfmigrate.verify.run.world import World

SKIPPED = frozenset([".git", ".hg", ".svn", "node_modules", "__pycache__", ".tox", ".mypy_cache", ".ruff_cache"])
MARK = "TFMIGRATE_RUN"
"""Set for each run to a value of its own, so that what the script starts is known even when it leaves the session."""
KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "SYSTEMROOT", "CUDA_HOME", "XLA_FLAGS")
PROGRAM, STUBS, SETUP = "program", "stubs", "setup"
"""Folders in a run's scratch folder."""
CACHES = (".keras/datasets", ".keras/models", "tensorflow_datasets")
"""What frameworks downloaded before, below the home folder."""


def copy_program(source: Path, target: Path, largest: int) -> list[str]:
    """Copies a program's folder, but for version control, virtual environments and files above `largest` bytes;
    returns notes about what was left out. Links are followed, but for one to a folder that it lies in: that copy would
    have no end."""
    notes: list[str] = []

    def left_out(folder: str, names: list[str]) -> set[str]:
        reasons = {name: _not_copied(Path(folder), name, source, largest) for name in names}
        notes.extend(f"{(Path(folder) / name).relative_to(source)} {why}" for name, why in reasons.items() if why)
        return {name for name, why in reasons.items() if why is not None}

    try:
        shutil.copytree(source, target, ignore=left_out)
    except shutil.Error as error:  # all the rest is copied
        for path, _, why in error.args[0]:
            notes.append(f"{Path(path).relative_to(source)} was not copied to the run: {why}")
    return notes


def fingerprint(source: Path, largest: int) -> str:
    """Hash of all that `copy_program` copies of a folder."""
    digest = hashlib.sha256()
    for folder, folders, names in os.walk(source, followlinks=True):
        copied = [name for name in (*folders, *names) if _not_copied(Path(folder), name, source, largest) is None]
        folders[:] = sorted(name for name in folders if name in copied)
        for name in sorted(name for name in names if name in copied):
            path = Path(folder) / name
            digest.update(f"{path.relative_to(source)}\0{path.stat().st_size}\0".encode())
            with path.open("rb") as file:
                while chunk := file.read(1 << 20):
                    digest.update(chunk)
    return digest.hexdigest()


def lay_out(world: World, scratch: Path, largest: int) -> list[str]:
    """Puts all that a run needs into its scratch folder: the program with what is written over it, stand-ins for
    modules, the file that makes data. Returns notes about what was left out."""
    program = scratch / PROGRAM
    notes = copy_program(world.source, program, largest)
    for name, text in world.overlay.items():
        (program / name).parent.mkdir(parents=True, exist_ok=True)
        (program / name).write_text(text, encoding="utf-8")
    for module, file in world.stubs.items():
        _stub(scratch / STUBS, module.split("."), file)
    if world.setup is not None:
        (scratch / SETUP).mkdir()
        shutil.copy(world.setup, scratch / SETUP / world.setup.name)
    return notes


def _stub(folder: Path, parts: list[str], file: Path) -> None:
    """A module, or a package where it is a folder or another stub lies in it; packages above it are made empty."""
    for part in parts[:-1]:
        folder = folder / part
        folder.mkdir(parents=True, exist_ok=True)
        if folder.with_suffix(".py").exists():
            folder.with_suffix(".py").rename(folder / "__init__.py")
        (folder / "__init__.py").touch()
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / parts[-1]
    if file.is_dir():
        shutil.copytree(file, target, dirs_exist_ok=True)
    else:
        shutil.copy(file, target / "__init__.py" if target.is_dir() else target.with_suffix(".py"))


def _not_copied(folder: Path, name: str, source: Path, largest: int) -> str | None:
    """Why `name` in `folder` is not copied, with no words where nobody would miss it; None when it is."""
    path = folder / name
    try:
        state = path.stat()
    except FileNotFoundError:
        return ""  # a link to nothing
    except OSError as error:
        return f"was not copied to the run: {error.strerror}"
    if stat.S_ISDIR(state.st_mode):
        if name in SKIPPED or is_installed(path):
            return ""
        above = (parent for parent in (folder, *folder.parents) if parent.is_relative_to(source))
        if path.is_symlink() and any(outer.samefile(path) for outer in above):
            return "was not copied to the run: it is a link to a folder that contains it"
    elif not stat.S_ISREG(state.st_mode):
        return f"was not copied to the run: it is {what_is(state.st_mode)}"
    elif state.st_size > largest:
        return f"({state.st_size >> 20} MiB) was not copied to the run"
    return None


def environment(world: World, scratch: Path, task: Mapping[str, Any] | None = None) -> dict[str, str]:
    """The child's variables: few of ours, so that two runs differ by their worlds alone."""
    home, temporary = scratch / "home", scratch / "tmp"
    home.mkdir()
    temporary.mkdir()
    for cache in CACHES:
        _show(Path.home() / cache, home / cache)
    values = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    values.update(
        HOME=str(home),
        TMPDIR=str(temporary),
        MPLBACKEND="Agg",
        PYTHONHASHSEED="0",
        PYTHONUNBUFFERED="1",
        PYTHONDONTWRITEBYTECODE="1",
        PYTHONIOENCODING="utf-8",
        TF_CPP_MIN_LOG_LEVEL="2",
        TF_ENABLE_ONEDNN_OPTS="0",
        TF_FORCE_GPU_ALLOW_GROWTH="true",  # else a run would take the whole card, or fail where another process uses it
    )
    index = task["task"]["index"] if task else 0
    share = world.replicas // world.workers
    too_few = task is not None and devices.visible() < world.replicas  # all workers on the same kind of device
    on_cpus = world.kind == "genuine" or too_few
    values["CUDA_VISIBLE_DEVICES"] = "-1" if on_cpus else _gpus(index * share, share)
    if world.legacy_keras:
        values[KERAS_2] = "1"
    if world.threads:
        values.update(OMP_NUM_THREADS=str(world.threads), TF_NUM_INTRAOP_THREADS=str(world.threads))
    if task:
        values["TF_CONFIG"] = json.dumps(task)
    values.update(world.environment)
    values[MARK] = uuid.uuid4().hex
    return values


def _show(real: Path, place: Path) -> None:
    """The files under `real` as links under `place`: they can be read, and new ones beside them go with the scratch."""
    for folder, _, names in os.walk(real):
        here = place / Path(folder).relative_to(real)
        here.mkdir(parents=True, exist_ok=True)
        for name in names:
            (here / name).symlink_to(Path(folder) / name)


def _gpus(first: int, count: int) -> str:
    """As many cards as replicas, so that "all visible" means them; numbers that no card has are ignored by CUDA."""
    allowed = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = allowed.split(",") if allowed is not None else [str(i) for i in range(first + count)]
    return ",".join(names[first : first + count])


def state_of(folder: Path) -> dict[str, tuple[int, int]]:
    """Relative path -> (time of change in ns, bytes) of each file."""
    stamps = {}
    for root, _, names in os.walk(folder):
        for name in names:
            path = Path(root) / name
            with suppress(OSError):
                state = path.lstat()
                stamps[str(path.relative_to(folder))] = (state.st_mtime_ns, state.st_size)
    return stamps
