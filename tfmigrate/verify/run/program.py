"""The modules that a script is made of."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Lock

from tfmigrate.files import regular


def program_of(
    folder: Path, script: str, home: Path | None = None, followed: Callable[[bytes], bytes] = lambda source: source
) -> dict[str, bytes]:
    """The script and the modules in its program's folder that it imports, by path in the folder to source. `home` is
    where absolute imports begin, by default the script's own folder.

    Imports are read, not run: one that the program makes up at run time is not followed. `followed`: the part of a
    module whose imports count.
    """
    home = (folder / script).parent if home is None else home
    files = {script: regular.read(folder / script)}
    pending = [script]
    while pending:
        name = pending.pop()
        for path in _imported(followed(files[name]), (folder / name).parent, home):
            key = path.relative_to(folder).as_posix() if path.is_relative_to(folder) else None
            if key is not None and key not in files:
                with suppress(OSError):  # not a file, or not ours to read: then neither does Python import it
                    files[key] = regular.read(path)
                    pending.append(key)
    return files


_PARSING = Lock()
"""Python 3.11 counts the depth of a tree for all threads together, and fails if two of them parse at a time."""


def tree_of(source: str | bytes) -> ast.Module:
    """A module's code; that of an empty one where it is no Python 3."""
    try:
        with _PARSING:
            return ast.parse(source)
    except (SyntaxError, ValueError):
        return ast.Module(body=[], type_ignores=[])


def last_name(node: ast.AST) -> str:
    """The last word of what a name or an attribute is; "" of anything else."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _imported(source: bytes, package: Path, home: Path) -> Iterator[Path]:
    """Files that the imports of a module in `package` may mean; absolute ones start at `home`."""
    for node in ast.walk(tree_of(source)):
        if isinstance(node, ast.Import):
            targets = [(home, alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = home if not node.level else Path(os.path.realpath(package.joinpath(*[".."] * (node.level - 1))))
            parts = node.module.split(".") if node.module else []
            targets = [(start, [*parts, alias.name]) for alias in node.names]
        else:
            continue
        for start, names in targets:
            for depth in range(1, len(names) + 1):
                base = start.joinpath(*names[:depth])
                yield from (path for path in (base.with_suffix(".py"), base / "__init__.py") if os.path.isfile(path))
            yield from (path for path in [start / "__init__.py"] if start != home and os.path.isfile(path))
