"""Python files that belong to no program with something to migrate, and what is reported of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from tfmigrate.files import scan, source
from tfmigrate.plan.selection import Selection
from tfmigrate.result import FileResult, Finding
from tfmigrate.settings import Settings
from tfmigrate.understand.suppressions import read_suppressions


@dataclass(frozen=True)
class Question:
    """What is asked of the files that hold one of some needles."""

    needles: Collection[bytes]
    findings_of: Callable[[str, str], Iterable[Finding]]
    """What is reported of a file, by its path and its text."""


def reported(
    questions: Iterable[Question | None], known: Collection[str], paths: Sequence[str], settings: Settings
) -> list[FileResult]:
    """What is reported of the Python files below `paths`, in the order of the questions.

    `known`: the paths of all files that belong to a program with something to migrate.
    """
    asked = [question for question in questions if question is not None]
    needles = {needle for question in asked for needle in question.needles}
    if not needles:
        return []
    files = []
    for file in scan.search(paths, tuple(needles), settings.exclude, settings.root).files:
        if file.path in known or not file.path.endswith(".py"):
            continue
        try:
            text = source.decode(file.data).text
        except source.SourceError:
            continue
        concerned = (question for question in asked if any(needle in file.data for needle in question.needles))
        found = [finding for question in concerned for finding in question.findings_of(file.path, text)]
        if not found:
            continue
        selection = Selection(settings.for_file(file.path), read_suppressions(text))
        allowed = tuple(finding for finding in found if selection.allows(finding.code, finding.line))
        if allowed:
            files.append(FileResult(file.path, "unchanged", allowed, before=text, after=text))
    return files
