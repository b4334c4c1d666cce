"""Which versions a project says it was written for: its requirements, setup files, conda files and Dockerfiles."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tfmigrate.files import regular

NAMES = (
    "requirements*.txt", "requirements/*.txt", "constraints*.txt", "setup.py", "setup.cfg", "pyproject.toml", "Pipfile",
    "environment*.yml", "environment*.yaml", "conda*.yml", "conda*.yaml", "Dockerfile*",
)  # fmt: skip
"""Files read, the first that names a version wins."""

# `==`, `~=` and conda's `=` name one version; `>=` and `<` name none. A Pipfile writes `keras = "==2.2.4"`.
_PIN = re.compile(
    r"(?<![\w.-])(keras|tensorflow(?:-cpu|-gpu)?)(?:\[[\w,.-]*\])?\s*(?:=\s*[\"'])?\s*(?:===?|~=|=)\s*(\d+(?:\.\d+)*)",
    re.I,
)
# NVIDIA's images are numbered by year and month.
_IMAGE = re.compile(r"^\s*FROM\s+(?:(?!nvcr\.io)\S+/)?tensorflow:(\d+(?:\.\d+)*)", re.I | re.M)


def pinned_in(folder: Path) -> dict[str, str]:
    """The version of each package that a folder's own files pin."""
    versions: dict[str, str] = {}
    for path in _files(folder):
        for package, version in _pins(path):
            versions.setdefault(package, version)
    return versions


def written_for(folder: Path, pinned: Callable[[Path], Mapping[str, str]] = pinned_in) -> str | None:
    """The pins that hold for the sources of `folder`, as "keras==2.2.4, tensorflow==1.13.1", or None.

    Looks in the folder and those above it, up to the repository's root (without one, in the folder only), and takes
    the nearest that pins either. Who asks for many folders hands in a `pinned` that remembers.
    """
    for parent in folders_up(Path(os.path.realpath(folder))):
        versions = pinned(parent)
        if versions:
            return ", ".join(f"{package}=={version}" for package, version in sorted(versions.items()))
    return None


def unreadable(folder: Path) -> Iterator[tuple[Path, str]]:
    """The files that would say which versions hold in `folder`, but cannot be read, each with the reason."""
    for parent in folders_up(Path(os.path.realpath(folder))):
        for path in _files(parent):
            reason = None if os.path.isdir(path) else regular.lacking(path)  # `Dockerfile*` may well be a folder's name
            if reason is not None:
                yield path, reason


def folders_up(folder: Path) -> list[Path]:
    """`folder` and those above it up to the repository's root; without a repository, the folder only."""
    chain = [folder, *folder.parents]
    for number, parent in enumerate(chain):
        if os.path.exists(parent / ".git"):
            return chain[: number + 1]
    return chain[:1]


def _files(folder: Path) -> Iterator[Path]:
    for name in NAMES:
        yield from sorted(folder.glob(name))


def _pins(path: Path) -> Iterator[tuple[str, str]]:
    try:
        text = regular.read(path).decode(errors="replace")
    except OSError:  # see `unreadable`
        return
    text = "\n".join(line.split("#")[0] for line in text.splitlines())
    for match in _PIN.finditer(text):
        yield ("keras" if match[1].lower() == "keras" else "tensorflow"), match[2]
    for match in _IMAGE.finditer(text):
        yield "tensorflow", match[1]
