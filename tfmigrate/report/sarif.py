"""SARIF 2.1.0, for code scanning services and editors; rules come with their Markdown page as help."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any
from urllib.parse import quote

from tfmigrate import __version__, rules
from tfmigrate.printable import visible
from tfmigrate.report.fingerprint import fingerprinted
from tfmigrate.report.severity import severity
from tfmigrate.result import FileResult, Finding, Result, lines_of

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(result: Result) -> str:
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
        "results": list(_results(result, codes)),
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
    } | ({"helpUri": page} if (page := rules.address(code)) else {})


def _results(result: Result, codes: list[str]) -> Iterator[dict[str, Any]]:
    """Each finding; a file's first rewrite has the fix, which is that of the whole program: no part stands alone."""
    fixes = _fixes(result)
    for file, finding, mark in fingerprinted(result):
        entry = _result(file, finding, codes) | {"partialFingerprints": {"tfmigrate/v1": mark}}
        if finding.action == "rewrite" and not finding.applied and file.path in fixes:
            entry["fixes"] = [fixes.pop(file.path)]
        yield entry


def _result(file: FileResult, finding: Finding, codes: list[str]) -> dict[str, Any]:
    location = _location(file.path)
    region = {"startLine": finding.line, "startColumn": finding.column, "endLine": finding.line}
    message = finding.message
    if line := file.line_of(finding).rstrip():
        region["endColumn"] = max(finding.column, len(line)) + 1
    if finding.cell:  # Regions are those of the file, which is JSON.
        region = {"startLine": finding.cell.file_line, "endLine": finding.cell.file_line}
        message = f"cell {finding.cell.number}, line {finding.line}: {message}"
    location["physicalLocation"]["region"] = region
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": severity(finding),
        "message": {"text": visible(message, "\n")},
        "locations": [location],
        "properties": {"action": finding.action, "applied": finding.applied},
    }
    return result | ({"suppressions": [{"kind": "inSource"}]} if finding.action == "suppressed" else {})


def _fixes(result: Result) -> dict[str, dict[str, Any]]:
    """For each file that would change, the change of all files of its program."""
    changed = {file.path: file for file in result.files if file.changed}
    alone = [(path,) for path in changed if not any(path in program for program in result.programs)]
    fixes = {}
    for program in (*result.programs, *alone):
        files = [changed[path] for path in program if path in changed]
        fix = {
            "description": {"text": f"Migrate {', '.join(visible(file.path) for file in files)}"},
            "artifactChanges": [
                _location(file.path)["physicalLocation"] | {"replacements": list(_replacements(file))} for file in files
            ],
        }
        fixes.update({file.path: fix for file in files})
    return fixes


def _replacements(file: FileResult) -> Iterator[dict[str, Any]]:
    """Whole lines; a region that ends a line before the next one begins ends at that one's first column."""
    before, after = lines_of(file.before), lines_of(file.after)
    for kind, start, end, first, last in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            yield {
                "deletedRegion": _region(before, start, end),
                "insertedContent": {"text": "".join(after[first:last])},
            }


def _region(lines: list[str], start: int, end: int) -> dict[str, int]:
    def place(number: int) -> tuple[int, int]:
        if number < len(lines) or not lines or lines[-1].endswith(("\r", "\n")):
            return number + 1, 1
        return len(lines), len(lines[-1]) + 1  # The last line has no end.

    (line, column), (end_line, end_column) = place(start), place(end)
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}


def _notification(file: FileResult) -> dict[str, Any]:
    level = "error" if file.status == "error" else "note"
    return {"level": level, "message": {"text": visible(file.error or "", "\n")}, "locations": [_location(file.path)]}


def _location(path: str) -> dict[str, Any]:
    uri = quote(os.fsencode(os.path.relpath(path).replace(os.sep, "/")))
    return {"physicalLocation": {"artifactLocation": {"uri": uri}}}
