"""Workflow commands that GitHub shows as annotations on the changed lines."""

from __future__ import annotations

from tfmigrate.printable import visible
from tfmigrate.report.severity import Severity, severity
from tfmigrate.report.text import counts, outcome, reported
from tfmigrate.result import Result

_COMMANDS: dict[Severity, str] = {"error": "error", "warning": "warning", "note": "notice"}


def render(result: Result) -> str:
    """One `::error file=...::message` (or warning, notice) a finding, then the counts as a plain line of the log."""
    lines = []
    for file in result.files:
        path = _property(file.path.replace("\\", "/"))
        if file.error:
            command = "error" if file.status == "error" else "notice"
            lines.append(f"::{command} file={path},title=tfmigrate::{_data(file.error)}")
        for finding in reported(file):
            where, message = f"line={finding.line},col={finding.column}", finding.message
            if finding.cell:
                where = f"line={finding.cell.file_line}"  # GitHub shows the JSON.
                message = f"cell {finding.cell.number}, line {finding.line}: {message}"
            properties = f"file={path},{where},title={_property(finding.code)}"
            lines.append(f"::{_COMMANDS[severity(finding)]} {properties}::{_data(message)} [{outcome(finding)}]")
    return "\n".join([*lines, counts(result)]) + "\n"


def _data(text: str) -> str:
    return visible(text, "\n").replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(visible(text)).replace(":", "%3A").replace(",", "%2C")
