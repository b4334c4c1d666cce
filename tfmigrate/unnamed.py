"""A program of which only some files were given: all of it is migrated, or none, and the others are named."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from tfmigrate.result import FileResult

_SHOWN = 3
_FIRST = "TFM001"
"""The code whose findings say that a program is migrated."""


def held_back(
    files: Sequence[FileResult], groups: Sequence[Sequence[str]], given: Callable[[str], bool], beside: Iterable[str]
) -> list[FileResult]:
    """The results of the given files; those of a program that would change outside of them too stay as they are.

    `groups`: the paths of each program. `given`: whether a path is. `beside`: further files that would change if they
    were given.
    """
    results = {file.path: file for file in files}
    waiting = frozenset(beside)
    changing = waiting | {file.path for file in files if file.changed}
    for group in groups:
        missing = sorted(path for path in group if path in changing and not given(path))
        for path in group if missing else ():
            if path in results and results[path].changed:
                results[path] = _left(results[path], missing)
    return [file for file in results.values() if given(file.path) or file.path in waiting]


def _left(file: FileResult, missing: Sequence[str]) -> FileResult:
    """A file that stays as it is until others are given."""
    names = [os.path.normpath(path) for path in missing]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    listed = ", ".join(names[:_SHOWN]) + more
    message = f"not migrated: {listed} must change with this file and was not given; give all of them, or their folder"
    rewrites = [finding for finding in file.findings if finding.action == "rewrite"]
    refused = frozenset([finding for finding in rewrites if finding.code == _FIRST] or rewrites[:1])
    findings = (
        replace(finding, action="refuse", message=message) if finding in refused else finding
        for finding in file.findings
    )
    return replace(file, status="refused", findings=tuple(findings), after=file.before)
