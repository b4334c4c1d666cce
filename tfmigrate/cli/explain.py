"""`tfmigrate explain`: the page of a rule, or why a line is rewritten so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tfmigrate import migrate, settings
from tfmigrate.cli.output import write, write_page
from tfmigrate.errors import UserError
from tfmigrate.result import FileResult, Finding

if TYPE_CHECKING:
    from tfmigrate.rules import Rule

SUGGESTED = 3


@click.command(short_help="Show a rule, or why a line is rewritten or refused.")
@click.argument("what", metavar="RULE|FILE:LINE", required=False)
def explain(what: str | None) -> int:
    """Show the page of a rule, given its code or name, or why a line is rewritten or refused, given FILE:LINE (in a
    notebook FILE:CELL:LINE). Without an argument, list all rules.
    """
    from tfmigrate import rules

    known = rules.by_code()
    if what is None:
        write("".join(f"{rule.code}  {rule.title}\n" for rule in known.values()))
        return 0
    named = what.upper() if what.upper() in known else next((r.code for r in known.values() if r.name == what), None)
    if named:
        write_page(known[named].page)
        return 0
    path, _, line = what.rpartition(":")
    path, _, cell = path.rpartition(":") if path.rpartition(":")[2].isdigit() else (path, "", "")
    if not path or not line.isdigit():
        raise UserError(f"explain: {what!r} is neither a rule nor FILE:LINE; {_nearest(what, known)}")
    file = migrate.check_within(path, settings.load(Path(path).parent, {}))
    if file.error:
        raise UserError(f"{file.path}: {file.error}")
    return _explain_line(file, (int(cell) if cell else None, int(line)), known)


def _nearest(what: str, known: dict[str, Rule]) -> str:
    """The rules that a wrong code or a few words may mean, for a message."""
    if re.fullmatch(r"TFM\d+", what.upper()):
        number = int(what[3:])
        near = sorted(known, key=lambda code: abs(int(code[3:]) - number))
    else:
        counts = {code: len(_words(what) & _words(f"{rule.name} {rule.title}")) for code, rule in known.items()}
        near = sorted((code for code, count in counts.items() if count), key=lambda code: -counts[code])
    suggestions = ", ".join(f"{code} ({known[code].name})" for code in near[:SUGGESTED])
    return f"did you mean {suggestions}?" if suggestions else "`tfmigrate explain` lists the rules"


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", text.lower()))


def _explain_line(file: FileResult, place: tuple[int | None, int], known: dict[str, Rule]) -> int:
    from tfmigrate.report.text import path, told

    def at(finding: Finding) -> tuple[int | None, int]:
        return finding.cell.number if finding.cell else None, finding.line

    here = [finding for finding in file.findings if at(finding) == place]
    if not here:
        others = sorted({at(finding) for finding in file.findings}, key=lambda other: (other[0] or 0, other[1]))
        told_others = ", ".join(f"{cell}:{line}" if cell else f"{line}" for cell, line in others)
        elsewhere = f"; this file has findings at line {told_others}" if others else "; this file has no findings"
        shown = f"{place[0]}:{place[1]}" if place[0] else f"{place[1]}"
        write(f"{path(file)}:{shown}: nothing to explain{elsewhere}\n")
        return 1
    for finding in here:
        trail = "".join(f"    {step}\n" for step in finding.trail)
        write(f"{path(file)}:{told(finding)}\n{trail}\n")
    for code in sorted({finding.code for finding in here}):
        write_page(known[code].page + "\n")
    return 0
