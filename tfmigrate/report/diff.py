"""A patch that `git apply` and `patch -p1` take."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator

from tfmigrate.result import FileResult, Result


def render(result: Result) -> str:
    """All changes as one patch, paths relative to the current folder.

    A patch holds each file's own bytes, so write it as UTF-8 with `surrogateescape`: bytes that are no UTF-8 (a
    latin-1 file) are surrogates here.
    """
    return "".join(line for file in result.files if file.changed for line in _patch(file))


def _patch(file: FileResult) -> Iterator[str]:
    path = os.path.relpath(file.path).replace(os.sep, "/")
    before, after = _lines(file.before, file.encoding), _lines(file.after, file.encoding)
    yield f"diff --git {_quoted('a/' + path)} {_quoted('b/' + path)}\n"
    old, new = (_quoted(side + path) + ("\t" if " " in path else "") for side in ("a/", "b/"))
    for line in difflib.unified_diff(before, after, old, new):
        # difflib gives the two headers a time stamp field only when asked; every other line keeps its own ending.
        yield line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"


def _lines(text: str, encoding: str) -> list[str]:
    # Only "\n" ends a line of a patch: "\r" and form feeds are content.
    return [line for line in _split(text.encode(encoding).decode("utf-8", "surrogateescape")) if line]


def _split(text: str) -> list[str]:
    *lines, last = text.split("\n")
    return [line + "\n" for line in lines] + [last]


def _quoted(path: str) -> str:
    """As git writes a path: in C quotes when it holds a quote, a backslash or a control character."""
    if not any(character in '"\\' or ord(character) < 32 for character in path):
        return path
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if ord(c) >= 32 else f"\\{ord(c):03o}" for c in escaped) + '"'
