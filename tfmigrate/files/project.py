"""The files round a program that say which packages it needs, and the sources beside it that import Keras."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence, Set
from pathlib import Path

from tfmigrate.files import regular, scan
from tfmigrate.files.installed import names_in
from tfmigrate.files.pins import folders_up

_BESIDE = ("requirements", "docker", ".devcontainer")
"""Folders of a project that hold such files too."""
_IMPORTS_KERAS = re.compile(rb"(?:^|[\"'])[ \t]*(?:import|from)[ \t]+keras[\s.\\]", re.M)


def nearest(folder: str, listed: Callable[[Path], Sequence[Path]]) -> tuple[str, list[scan.FoundFile]]:
    """The nearest folder, up to the repository's root, for which `listed` names files; and those files.

    Paths are relative to the current folder where `folder` is.
    """
    for parent in folders_up(Path(os.path.realpath(folder))):
        files = [_as_found(file, os.path.isabs(folder)) for file in listed(parent)]
        if files:
            return str(parent), files
    return str(Path(os.path.realpath(folder))), []


def files_named(folder: Path, named: Callable[[str], bool]) -> list[Path]:
    """The files of a project's folder whose names `named` accepts."""
    places = (folder, *(folder / name for name in _BESIDE))
    files = [place / name for place in places for name in sorted(filter(named, names_in(place)))]
    return [file for file in files if not file.is_symlink() and regular.lacking(file) is None]


def _as_found(file: Path, absolute: bool) -> scan.FoundFile:
    return scan.FoundFile(str(file) if absolute else os.path.relpath(file), str(file), regular.read(file))


def real_places(paths: Iterable[str]) -> frozenset[str]:
    """The real paths of what was given, for `within`."""
    return frozenset(map(os.path.realpath, paths))


def within(real: str, places: Set[str]) -> bool:
    """Whether a real path is one of `places`, or lies in a folder that is."""
    return not places.isdisjoint((real, *map(str, Path(real).parents)))


def importer_of_keras(folder: str, exclude: Sequence[str], root: Path | None, known: dict[str, bytes]) -> str | None:
    """A source below `folder` that imports standalone Keras, None where there is none.

    `known`: real path -> the bytes it will have, of files that are being changed.
    """
    for file in scan.search([folder], (b"import keras", b"from keras"), exclude, root).files:
        if _IMPORTS_KERAS.search(known.get(file.real, file.data)):
            return os.path.relpath(file.real, folder)
    return None
