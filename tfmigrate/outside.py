"""Python files that belong to no program with something to migrate, and what is reported of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

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
        allowed = _allowed(found, file.path, text, settings)
        if allowed:
            files.append(FileResult(file.path, "unchanged", allowed, before=text, after=text))
    return files


def with_findings(
    files: Sequence[FileResult], found: Iterable[tuple[str, Finding]], settings: Settings
) -> list[FileResult]:
    """The files, each with what was found in it beside, where nothing is reported of that line by the same rule."""
    by_path: dict[str, list[Finding]] = {}
    for path, finding in found:
        by_path.setdefault(path, []).append(finding)
    return [_with(file, by_path.get(file.path, ()), settings) for file in files]


def _with(file: FileResult, found: Iterable[Finding], settings: Settings) -> FileResult:
    told = {(finding.line, finding.code) for finding in file.findings}
    new = [finding for finding in found if (finding.line, finding.code) not in told]
    allowed = _allowed(new, file.path, file.before, settings) if new else ()
    return replace(file, findings=tuple(sorted((*file.findings, *allowed)))) if allowed else file


def _allowed(found: Iterable[Finding], path: str, text: str, settings: Settings) -> tuple[Finding, ...]:
    selection = Selection(settings.for_file(path), read_suppressions(text))
    return tuple(finding for finding in found if selection.allows(finding.code, finding.line))
