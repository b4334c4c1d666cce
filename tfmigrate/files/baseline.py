"""A file of findings that are known, so that a large repository can adopt the check without mending all at once.

A finding is known by its file, its code and the text of its line, not by the line's number: code above may change.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tfmigrate.errors import UserError
from tfmigrate.files import regular
from tfmigrate.result import FileResult, Finding, Result

VERSION = 1


class BaselineError(UserError):
    """A baseline that cannot be read or written."""


@dataclass(frozen=True, order=True)
class Entry:
    """One finding as the baseline knows it; `path` is relative to the baseline's folder, with `/`."""

    path: str
    code: str
    source: str
    """The line's text without the space round it."""


@dataclass(frozen=True)
class Remaining:
    """What a baseline leaves of a result."""

    result: Result
    known: int
    """Findings left out because the baseline has them."""
    stale: int
    """Findings of the baseline that are gone from the given paths."""


def entries(baseline: Path, result: Result) -> list[Entry]:
    """All findings that count, as entries; suppressed ones are known without a baseline."""
    return [_entry(baseline, *finding) for finding in result.findings if finding[1].action != "suppressed"]


def remaining(baseline: Path, result: Result, paths: Sequence[str]) -> Remaining:
    """`result` without the findings that `baseline` knows. Raises BaselineError."""
    known = read(baseline)
    left, total = known.copy(), 0
    files = []
    for file in result.files:
        fresh = []
        for finding in file.findings:
            entry = _entry(baseline, file, finding)
            if finding.action != "suppressed" and left[entry]:
                left[entry] -= 1
                total += 1
            else:
                fresh.append(finding)
        if fresh or not file.findings:
            refused = any(finding.action == "refuse" for finding in fresh)
            status = "migrated" if file.status == "refused" and not refused and file.changed else file.status
            files.append(replace(file, findings=tuple(fresh), status=status))
    places = [_relative(baseline, path) for path in paths]
    stale = sum(
        count
        for entry, count in left.items()
        if any(place in (".", entry.path) or entry.path.startswith(f"{place}/") for place in places)
    )
    return Remaining(replace(result, files=tuple(files)), total, stale)


def _entry(baseline: Path, file: FileResult, finding: Finding) -> Entry:
    return Entry(_relative(baseline, file.path), finding.code, file.line_of(finding).strip())


def _relative(baseline: Path, path: str) -> str:
    return os.path.relpath(os.path.abspath(path), Path(os.path.realpath(baseline)).parent).replace(os.sep, "/")


def read(baseline: Path) -> Counter[Entry]:
    """How often each finding is known. Raises BaselineError."""
    try:
        document = json.loads(regular.read(baseline))
    except FileNotFoundError:
        raise BaselineError(
            f"{baseline}: no such baseline; create it with: tfmigrate check --write-baseline {baseline}"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BaselineError(f"{baseline}: cannot be read as a baseline: {reason}") from None
    try:
        if document["version"] != VERSION:
            raise BaselineError(
                f"{baseline}: version {document['version']!r} is not {VERSION}; write it again with --write-baseline"
            )
        return Counter(
            {Entry(entry["path"], entry["code"], entry["source"]): entry["count"] for entry in document["findings"]}
        )
    except (KeyError, TypeError):
        raise BaselineError(f"{baseline}: is not a baseline; write it again with --write-baseline") from None


def save(baseline: Path, entries: Iterable[Entry]) -> int:
    """Write the baseline, sorted so that its diffs read well; how many findings it holds. Raises BaselineError."""
    counted = Counter(entries)
    findings = [
        {"path": entry.path, "code": entry.code, "source": entry.source, "count": count}
        for entry, count in sorted(counted.items())
    ]
    text = json.dumps({"version": VERSION, "findings": findings}, indent=2, ensure_ascii=False) + "\n"
    try:
        # A path may hold bytes that are not UTF-8, which Python has as lone surrogates and JSON as \udcff.
        baseline.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
    except OSError as error:
        raise BaselineError(f"{baseline}: cannot be written: {error.strerror}") from None
    return counted.total()
