"""Which files an import may mean, by its name and the place of the file it stands in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath

LIBRARIES = frozenset({"keras", "tensorflow", "tf_keras"})
"""A fork of Keras has these modules in it, and its scripts still mean the library."""


def paths_of(name: str, level: int, importer: str) -> Iterator[PurePath]:
    """The paths that `import name` may mean in a file, the likeliest first; `level` counts the leading dots.

    An absolute name is looked for beside the importing file and in every folder above it, nearest first, as a script's
    own folder and a project's root stand on the path of most projects. Last, its first word may be the name under
    which a project is installed, and its folder called otherwise; one word more would not tell that from a library.
    """
    parts = [part for part in name.split(".") if part]
    here = PurePath(importer).parent
    if level:
        for _ in range(level - 1):
            here = here.parent
        yield from _files(here, parts)
    elif parts and parts[0] not in LIBRARIES:
        for folder in (here, *here.parents):
            yield from _files(folder, parts)
        if len(parts) > 2:
            for folder in (here, *here.parents):
                yield from _files(folder, parts[1:])


def _files(folder: PurePath, parts: Sequence[str]) -> Iterator[PurePath]:
    base = folder.joinpath(*parts)
    yield base / "__init__.py"
    if parts:
        yield base.with_name(base.name + ".py")
