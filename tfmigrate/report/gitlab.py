"""GitLab's Code Quality report: findings beside the changed lines of a merge request."""

from __future__ import annotations

import json
import os
from typing import Any

from tfmigrate.printable import visible
from tfmigrate.report.fingerprint import fingerprint, fingerprinted
from tfmigrate.report.severity import Severity, severity
from tfmigrate.report.text import one_line, outcome
from tfmigrate.result import FileResult, Result

SEVERITIES: dict[Severity, str] = {"error": "critical", "warning": "major", "note": "info"}
"""GitLab knows info, minor, major, critical and blocker."""


def render(result: Result) -> str:
    """A JSON list; what is suppressed is left out, a file in error stands at its first line."""
    rows = [
        {
            "description": f"{one_line(finding.message)} [{outcome(finding)}]",
            "check_name": finding.code,
            "fingerprint": mark,
            "severity": SEVERITIES[severity(finding)],
            "location": _location(file, finding.cell.file_line if finding.cell else finding.line),
        }
        for file, finding, mark in fingerprinted(result)
        if finding.action != "suppressed"
    ]
    rows += [
        {
            "description": one_line(file.error or ""),
            "check_name": file.status,
            "fingerprint": fingerprint(file.path, file.status),
            "severity": "blocker",
            "location": _location(file, 1),
        }
        for file in result.errors
    ]
    return json.dumps(rows, indent=2) + "\n"


def _location(file: FileResult, line: int) -> dict[str, Any]:
    return {"path": visible(os.path.relpath(file.path).replace(os.sep, "/")), "lines": {"begin": line}}
