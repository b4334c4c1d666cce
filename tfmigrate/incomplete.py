"""A program only some of whose files were given: all of it is migrated, or none, and the others are named."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace

from tfmigrate.result import FileResult

_SHOWN = 3
_FIRST = "TFM001"
"""The code whose findings say that a program is migrated."""


def held_back(
    files: Sequence[FileResult],
    is_given: Callable[[str], bool],
    imports: Mapping[str, Set[str]],
    beside: Mapping[str, Sequence[str]],
) -> list[FileResult]:
    """The results of the given files; those that depend on a change outside of them stay as they are.

    `is_given`: whether a path is. `imports`: what each file of a program imports, directly or through others. `beside`:
    further files that would change if they were given, each with those that change with it.
    """
    results = {file.path: file for file in files}
    changing = {file.path for file in files if file.changed} | beside.keys()
    pairs = [(import_, other) for import_ in imports for other in imports[import_]]
    pairs += [(one, other) for one in beside for other in beside[one]]
    for group in _connected(changing, pairs):
        missing = sorted(path for path in group if not is_given(path))
        for path in group if missing else ():
            if path in results and results[path].changed:
                results[path] = _left(results[path], missing)
    return [file for file in results.values() if is_given(file.path) or file.path in beside]


def _connected(paths: Set[str], pairs: Iterable[tuple[str, str]]) -> Iterable[Set[str]]:
    """Some paths in groups: the two of a pair stand in one."""
    groups = {path: {path} for path in paths}
    for first, other in pairs:
        if first in groups and other in groups and groups[first] is not groups[other]:
            groups[first] |= groups[other]
            groups.update((path, groups[first]) for path in groups[other])
    return {id(group): group for group in groups.values()}.values()


def _left(file: FileResult, missing: Sequence[str]) -> FileResult:
    """A file that stays as it is until others are given."""
    names = [os.path.normpath(path) for path in missing]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    listed = ", ".join(names[:_SHOWN]) + more
    message = f"not migrated: {listed} must change with this file but was not given; pass all of them, or their folder"
    rewrites = [finding for finding in file.findings if finding.action == "rewrite"]
    refused = frozenset([finding for finding in rewrites if finding.code == _FIRST] or rewrites[:1])
    findings = (
        replace(finding, action="refuse", message=message) if finding in refused else finding
        for finding in file.findings
    )
    return replace(file, status="refused", findings=tuple(findings), after=file.before)
