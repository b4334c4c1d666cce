"""Machine-readable, version 1; the schema is fixed, and tested in tests/report/test_json.py."""

from __future__ import annotations

import json
from typing import Any

from tfmigrate.printable import visible
from tfmigrate.report.summary import is_left, summarize
from tfmigrate.result import FileResult, Finding, Result


def render(result: Result) -> str:
    """`{"version", "files": [{"path", "status", "findings": [...]}], "summary"}`; a file in error has "error" too.

    So has one that was skipped: there it says why.

    A finding in a notebook has "cell" (from 1, among all cells), and its line and column count within that cell.
    """
    document = {
        "version": 1,
        "files": [_file(file) for file in result.files],
        "summary": summarize(result).as_dict(),
    }
    return json.dumps(document, indent=2) + "\n"


def _file(file: FileResult) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "path": _path(file.path),
        "status": file.status,
        "findings": [_finding(finding) for finding in file.findings],
    }
    return entry | ({"error": visible(file.error, "\n")} if file.error else {})


def _path(path: str) -> str:
    """The path itself; only what JSON has no place for, a byte that is no UTF-8, as `\xff`."""
    return "".join(visible(step) if "\ud800" <= step <= "\udfff" else step for step in path)


def _finding(finding: Finding) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "code": finding.code,
        "line": finding.line,
        "column": finding.column,
        "message": visible(finding.message, "\n"),
        "action": finding.action,
        "applied": finding.applied,
        "left": is_left(finding),
    }
    if finding.unsafe:
        entry["unsafe"] = True
    return entry | ({"cell": finding.cell.number} if finding.cell else {})
