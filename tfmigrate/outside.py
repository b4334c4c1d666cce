"""Python files that belong to no program with something to migrate, and what is reported of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from tfmigrate.files import scan, source
from tfmigrate.plan.selection import Selection
from tfmigrate.result import FileResult, Finding
from tfmigrate.settings import Settings
from tfmigrate.understand.suppressions import read_suppressions


def reported(
    needles: Collection[bytes],
    known: Collection[str],
    paths: Sequence[str],
    settings: Settings,
    findings_of: Callable[[str, str], Iterable[Finding]],
) -> list[FileResult]:
    """What `findings_of(path, text)` says of the Python files below `paths` that hold one of the needles.

    `known`: the paths of all files that belong to a program with something to migrate.
    """
    files = []
    for file in scan.search(paths, tuple(needles), settings.exclude, settings.root).files:
        if file.path in known or not file.path.endswith(".py"):
            continue
        try:
            text = source.decode(file.data).text
        except source.SourceError:
            continue
        found = list(findings_of(file.path, text))
        if not found:
            continue
        selection = Selection(settings.for_file(file.path), read_suppressions(text))
        allowed = tuple(finding for finding in found if selection.allows(finding.code, finding.line))
        if allowed:
            files.append(FileResult(file.path, "unchanged", allowed, before=text, after=text))
    return files
