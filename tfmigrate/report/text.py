"""Plain lines, one a finding: `path:line:column: CODE message [action]`, in a notebook `path:cell 3:line:...`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tfmigrate.printable import visible
from tfmigrate.report.summary import summarize, what_is_left
from tfmigrate.result import FileResult, Finding, Result


def render(result: Result, with_counts: bool = True) -> str:
    """All findings and errors in path order, then one line of counts."""
    lines = []
    for file in result.files:
        if file.error:
            lines.append(failed(file, file.error))
        lines += [f"{path(file)}:{told(first)}{also(others)}" for first, *others in alike(reported(file))]
    return ended(lines, result, with_counts)


def ended(lines: Sequence[str], result: Result, with_counts: bool) -> str:
    """Lines, and behind them the one of counts where it is wanted."""
    return "".join(f"{line}\n" for line in (*lines, *([counts(result)] if with_counts else ())))


def failed(file: FileResult, error: str) -> str:
    """The line of a file that could not be read or written."""
    return f"{path(file)}: {failure(file)}: {one_line(error)}"


def reported(file: FileResult) -> list[Finding]:
    """The findings that people are shown: suppressed ones are counted alone."""
    return [finding for finding in file.findings if finding.action != "suppressed"]


def alike(findings: Iterable[Finding]) -> list[list[Finding]]:
    """The findings, each with the later ones that say the same of other places of the file."""
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.code, finding.message, outcome(finding)), []).append(finding)
    return list(groups.values())


def also(others: Sequence[Finding]) -> str:
    """` (also at 4:1, 9:1)`; nothing where there are none."""
    return f" (also at {', '.join(map(place, others))})" if others else ""


def path(file: FileResult) -> str:
    """The file's path on one line, whatever characters are in it."""
    return visible(file.path)


def failure(file: FileResult) -> str:
    """What `file.error` is: "error", or the word for a path that was passed by."""
    return "skipped" if file.status == "skipped" else "error"


def told(finding: Finding) -> str:
    """`line:column: CODE message [what was done]`."""
    return f"{place(finding)}: {finding.code} {one_line(finding.message)} [{outcome(finding)}]"


def place(finding: Finding) -> str:
    """`line:column`, or `cell 3:line:column`."""
    where = f"{finding.line}:{finding.column}"
    return f"cell {finding.cell.number}:{where}" if finding.cell else where


def one_line(message: str) -> str:
    """The message with its line breaks made spaces, and with nothing that a terminal obeys."""
    return visible(" ".join(message.split()))


def outcome(finding: Finding) -> str:
    """What was done about a finding, in a word or two."""
    if finding.action == "rewrite":
        return "rewritten" if finding.applied else "can be rewritten"
    if finding.unsafe:
        return "can be rewritten with --unsafe-fixes"
    return {"refuse": "refused", "warn": "warning", "suppressed": "suppressed"}[finding.action]


def counts(result: Result) -> str:
    """One sentence: files checked, migrated, refused, in error; then a line for what `--unsafe-fixes` would do, and
    one for what is left."""
    total = summarize(result)
    checked = _number(total.scanned, "file", "files") + " checked"
    if not result.files:
        users = result.users()
        using = f"{_number(users, 'file uses', 'files use')} TensorFlow or Keras"
        hint = f"\n{using}: --select TFM5 lists the names in use that TensorFlow no longer has." if users else ""
        return f"{checked}, nothing to migrate.{hint}"
    migrated = [file for file in result.files if file.status == "migrated"]
    written = sum(any(finding.applied for finding in file.findings) for file in migrated)
    parts = [
        (written, "migrated"),
        (len(migrated) - written, "can be migrated"),
        (total.refused, "refused"),
        (total.errors, "could not be handled"),
        (total.skipped, "skipped"),
    ]
    counted = [f"{_number(count, 'file', 'files')} {what}" for count, what in parts if count]
    others = [(total.warnings, "warning", "warnings"), (total.suppressed, "suppressed use", "suppressed uses")]
    counted += [_number(*other) for other in others if other[0]]
    lines = [f"{checked}: {', '.join(counted)}."]
    if total.unsafe:
        places = _number(total.unsafe, "more place", "more places")
        lines.append(f"{places} can be rewritten with --unsafe-fixes, which changes what the program does.")
    return "\n".join(filter(None, (*lines, what_is_left(result))))


def _number(count: int, singular: str, many: str) -> str:
    return f"{count} {singular if count == 1 else many}"
