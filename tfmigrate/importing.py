"""Which files an import may mean, by its name and the place of the file it stands in."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath

LIBRARIES = frozenset({"keras", "tensorflow", "tf_keras"})
"""A fork of Keras has these modules in it, and its scripts still mean the library."""


_ADDED = re.compile(r"^[ \t]*sys\.path\.(?:append|insert)\(([^\n#]*)\)", re.M)
_TEXT = re.compile(r"(?<!\w)(?:'([^'\n\\]*)'|\"([^\"\n\\]*)\")")


def folders_added(text: str) -> tuple[str, ...]:
    """The folders that a file adds to `sys.path`, as far as their names are written there.

    "../lib" of `sys.path.append("../lib")`, and of `sys.path.insert(0, os.path.join(HERE, "..", "lib"))`. Of an
    absolute one, "/home/me/project/lib", the last words, for the project lies elsewhere today: "project/lib" and "lib".
    """
    if "sys.path" not in text:
        return ()
    words = ([quoted or other for quoted, other in _TEXT.findall(added)] for added in _ADDED.findall(text))
    joined = ("/".join(word) for word in words if word)
    return tuple(dict.fromkeys(place for folder in joined for place in _places_of(folder)))


def _places_of(folder: str) -> Iterator[str]:
    if not folder.startswith("/"):
        yield folder
        return
    parts = [part for part in folder.split("/") if part]
    yield from ("/".join(parts[-length:]) for length in (2, 1) if len(parts) >= length)


def paths_of(name: str, level: int, importer: str, added: Sequence[str] = ()) -> Iterator[str]:
    """The paths that `import name` may mean in a file, the likeliest first; `level` counts the leading dots.

    `added`: the folders that the file adds to `sys.path`, relative to its own or to one above.

    An absolute name is looked for beside the importing file and in every folder above it, nearest first, as a script's
    own folder and a project's root stand on the path of most projects. Then in their folders `src`, where projects keep
    the packages that are installed. Last, its first word may be the name under which a project is installed, and its
    folder called otherwise; one word more would not tell that from a library.
    """
    parts = [part for part in name.split(".") if part]
    here = PurePath(importer).parent
    if level:
        for _ in range(level - 1):
            here = here.parent
        yield from _files(_prefix(here), parts)
    elif parts and parts[0] not in LIBRARIES:
        folders = [_prefix(folder) for folder in (here, *here.parents)]
        for folder in folders:
            yield from _files(folder, parts)
        for extra in added:
            for folder in folders:
                yield from _files(_prefix(PurePath(os.path.normpath(folder + extra))), parts)
        for folder in folders:
            yield from _files(f"{folder}src{os.sep}", parts)
        if len(parts) > 2:
            for folder in folders:
                yield from _files(folder, parts[1:])


def _prefix(folder: PurePath) -> str:
    """What the paths of the files in a folder begin with, as `str(PurePath(path))` has it."""
    if not folder.name:  # the current folder, or a root
        return folder.anchor
    return f"{folder}{os.sep}"


def _files(folder: str, parts: Sequence[str]) -> Iterator[str]:
    """The package and the module of a dotted name. Their paths are many and are written as text: making a PurePath of
    each took most of the time of a check in a repository of 2,400 files."""
    base = folder + os.sep.join(parts)
    yield f"{base}{os.sep}__init__.py" if parts else f"{folder}__init__.py"
    if parts:
        yield f"{base}.py"
