"""`tfmigrate explain`: the page of a rule, or why a line is rewritten so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tfmigrate import migrate, settings
from tfmigrate.cli.output import write, write_page
from tfmigrate.errors import UserError, suggestion
from tfmigrate.result import FileResult, Finding

if TYPE_CHECKING:
    from tfmigrate.rules import Rule


@click.command()
@click.argument("what", metavar="CODE|FILE:LINE", required=False)
def explain(what: str | None) -> int:
    """Show a rule's page; or why the use at FILE:LINE is rewritten so, or refused. Without either, list the rules.

    A place in a notebook is FILE:CELL:LINE.
    """
    from tfmigrate import rules

    known = rules.by_code()
    if what is None:
        write("".join(f"{rule.code}  {rule.title}\n" for rule in known.values()))
        return 0
    if what.upper() in known:
        write_page(known[what.upper()].text)
        return 0
    path, _, line = what.rpartition(":")
    path, _, cell = path.rpartition(":") if path.rpartition(":")[2].isdigit() else (path, "", "")
    if not path or not line.isdigit():
        raise UserError(f"explain: {what!r} is no code and no FILE:LINE{suggestion(what.upper(), known)}")
    file = migrate.check_within(path, settings.load(Path(path).parent, {}))
    if file.error:
        raise UserError(f"{file.path}: {file.error}")
    return _explain_line(file, (int(cell) if cell else None, int(line)), known)


def _explain_line(file: FileResult, place: tuple[int | None, int], known: dict[str, Rule]) -> int:
    from tfmigrate.report.text import path, told

    def at(finding: Finding) -> tuple[int | None, int]:
        return finding.cell.number if finding.cell else None, finding.line

    here = [finding for finding in file.findings if at(finding) == place]
    if not here:
        others = sorted({at(finding) for finding in file.findings}, key=lambda one: (one[0] or 0, one[1]))
        told_others = ", ".join(f"{cell}:{line}" if cell else f"{line}" for cell, line in others)
        elsewhere = f"; this file has findings at line {told_others}" if others else "; this file has no findings"
        shown = f"{place[0]}:{place[1]}" if place[0] else f"{place[1]}"
        write(f"{path(file)}:{shown}: nothing to explain{elsewhere}\n")
        return 1
    for finding in here:
        trail = "".join(f"    {step}\n" for step in finding.trail)
        write(f"{path(file)}:{told(finding)}\n{trail}\n")
    for code in sorted({finding.code for finding in here}):
        write_page(known[code].text + "\n")
    return 0
