"""Folders that hold installed packages: they are part of no program."""

from __future__ import annotations

import os
from collections.abc import Callable, Set

NEVER_WALKED = frozenset(
    (
        ".git", ".hg", ".svn", ".bzr", "node_modules", "bower_components", "__pycache__", "__pypackages__",
        "site-packages", "dist-packages", ".venv", "venv", ".virtualenv", ".tox", ".nox", ".direnv", ".pixi", ".pyenv",
        ".eggs", ".mypy_cache", ".pytest_cache", ".pytype", ".ruff_cache", ".ipynb_checkpoints",
    )
)  # fmt: skip
"""Names of folders that hold installed packages, version control, or copies that a tool keeps for itself."""
_MARKS = ("pyvenv.cfg", "conda-meta")
_PROGRAMS = frozenset(("activate", "python", "python2", "python3"))


def is_marked(names: Set[str]) -> bool:
    """Whether a folder with these entries says of itself that it is an environment."""
    return not names.isdisjoint(_MARKS)


def is_installed(folder: str | os.PathLike[str], names: Set[str] | None = None) -> bool:
    """Whether a folder (with these entries, where they are known) is a virtual environment, under any name and with or
    without pyvenv.cfg."""
    if names is None:
        names = set(names_in(folder))
    if is_marked(names):
        return True
    if {"bin", "lib"} <= names:  # virtualenv wrote no pyvenv.cfg before version 20
        libraries, programs = names_in(os.path.join(folder, "lib")), names_in(os.path.join(folder, "bin"))
        return any(name.startswith("python") for name in libraries) and not _PROGRAMS.isdisjoint(programs)
    return {"Scripts", "Lib"} <= names and "site-packages" in names_in(os.path.join(folder, "Lib"))


def lies_in_installed(top: str, name: str, installed: Callable[[str], bool]) -> bool:
    """Whether one of the folders between `top` and the file `name` below it is one that a walk does not enter."""
    parts = name.split("/")[:-1]
    folders = (os.path.join(top, *parts[: depth + 1]) for depth in range(len(parts)))
    return not NEVER_WALKED.isdisjoint(parts) or any(map(installed, folders))


def names_in(folder: str | os.PathLike[str]) -> list[str]:
    """What a folder holds; nothing where it is missing, a file, or not ours to read."""
    try:
        return os.listdir(folder)
    except OSError:
        return []
