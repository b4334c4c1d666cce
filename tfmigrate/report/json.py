"""Machine-readable, version 1; the schema is DESIGN's and is tested in tests/report/test_json.py."""

from __future__ import annotations

import json
from typing import Any

from tfmigrate.report.summary import summarize
from tfmigrate.result import FileResult, Result
from tfmigrate.settings import Settings


def render(result: Result, settings: Settings) -> str:
    """`{"version", "files": [{"path", "status", "findings": [...]}], "summary"}`; a file in error has "error" too."""
    document = {
        "version": 1,
        "files": [_file(file) for file in result.files],
        "summary": summarize(result).as_dict(),
    }
    return json.dumps(document, indent=2) + "\n"


def _file(file: FileResult) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "path": file.path,
        "status": file.status,
        "findings": [
            {
                "code": finding.code,
                "line": finding.line,
                "column": finding.column,
                "message": finding.message,
                "action": finding.action,
                "applied": finding.applied,
            }
            for finding in file.findings
        ],
    }
    return entry | ({"error": file.error} if file.error else {})
