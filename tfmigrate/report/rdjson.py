"""Reviewdog's Diagnostic Format, as one JSON object.

No finding has a suggestion: a program is migrated as a whole, and one hunk of it accepted alone would leave a script
that does not run. `fix --diff` has them all.
"""

from __future__ import annotations

import json
import os
from typing import Any

from tfmigrate.printable import visible
from tfmigrate.report.severity import severity
from tfmigrate.report.text import outcome
from tfmigrate.result import FileResult, Finding, Result
from tfmigrate.rules import address

SEVERITIES = {"error": "ERROR", "warning": "WARNING", "note": "INFO"}


def render(result: Result) -> str:
    """What is suppressed is left out; a file in error has a diagnostic without a line."""
    diagnostics = [_diagnostic(file, finding) for file, finding in result.findings if finding.action != "suppressed"]
    diagnostics += [
        {"message": visible(file.error, "\n"), "location": {"path": _path(file)}, "severity": "ERROR"}
        for file in result.errors
        if file.error
    ]
    document = {"source": {"name": "tfmigrate"}, "severity": "WARNING", "diagnostics": diagnostics}
    return json.dumps(document, indent=2) + "\n"


def _diagnostic(file: FileResult, finding: Finding) -> dict[str, Any]:
    before = file.line_of(finding)[: finding.column - 1]
    start = {"line": finding.line, "column": len(before.encode("utf-8", "surrogateescape")) + 1}  # It counts bytes.
    message = visible(finding.message, "\n")
    if finding.cell:  # The file is JSON.
        start = {"line": finding.cell.file_line}
        message = f"cell {finding.cell.number}, line {finding.line}: {message}"
    code = {"value": finding.code}
    if page := address(finding.code):
        code["url"] = page
    return {
        "message": f"{message} [{outcome(finding)}]",
        "location": {"path": _path(file), "range": {"start": start}},
        "severity": SEVERITIES[severity(finding)],
        "code": code,
    }


def _path(file: FileResult) -> str:
    return visible(os.path.relpath(file.path).replace(os.sep, "/"))
