"""SARIF 2.1.0, for code scanning services and editors; rules come with their Markdown page as help."""

from __future__ import annotations

import json
import os
from typing import Any
from urllib.parse import quote

from tfmigrate import __version__, rules
from tfmigrate.printable import visible
from tfmigrate.report.severity import severity
from tfmigrate.result import FileResult, Finding, Result
from tfmigrate.settings import Settings

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(result: Result, settings: Settings) -> str:
    """One run; suppressed uses carry a suppression, files in error are notifications of an unsuccessful
    invocation, paths that were skipped notes of a successful one."""
    codes = sorted({finding.code for _, finding in result.findings})
    run = {
        "tool": {"driver": {"name": "tfmigrate", "version": __version__, "rules": [_rule(code) for code in codes]}},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not result.errors,
                "toolExecutionNotifications": [_notification(file) for file in result.files if file.error],
            }
        ],
        "results": [_result(file, finding, codes) for file, finding in result.findings],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(code: str) -> dict[str, Any]:
    rule = rules.by_code().get(code)
    if rule is None:
        return {"id": code}
    return {
        "id": code,
        "name": "".join(word.capitalize() for word in rule.name.replace("_", "-").split("-")),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.summary or rule.title},
        "help": {"text": rule.text, "markdown": rule.text},
    }


def _result(file: FileResult, finding: Finding, codes: list[str]) -> dict[str, Any]:
    location = _location(file.path)
    region, message = {"startLine": finding.line, "startColumn": finding.column}, finding.message
    if finding.cell:  # Regions are those of the file, which is JSON.
        region = {"startLine": finding.cell.file_line}
        message = f"cell {finding.cell.number}, line {finding.line}: {message}"
    location["physicalLocation"]["region"] = region
    found: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": severity(finding),
        "message": {"text": visible(message, "\n")},
        "locations": [location],
        "properties": {"action": finding.action, "applied": finding.applied},
    }
    return found | ({"suppressions": [{"kind": "inSource"}]} if finding.action == "suppressed" else {})


def _notification(file: FileResult) -> dict[str, Any]:
    level = "error" if file.status == "error" else "note"
    return {"level": level, "message": {"text": visible(file.error or "", "\n")}, "locations": [_location(file.path)]}


def _location(path: str) -> dict[str, Any]:
    uri = quote(os.fsencode(os.path.relpath(path).replace(os.sep, "/")))
    return {"physicalLocation": {"artifactLocation": {"uri": uri}}}
