"""The text report for a person at a terminal: colours, and the source line of each finding."""

from __future__ import annotations

import io
import shutil
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from tfmigrate.printable import visible
from tfmigrate.report.text import alike, counts, failure, one_line, outcome, path, place, reported
from tfmigrate.result import Cell, FileResult, Finding, Result

_COLOURS = {"rewrite": "green", "refuse": "red", "warn": "yellow"}
_UNBROKEN = "\ue000"
"""Stands for a space at which rich breaks no line; it knows none of Unicode's."""
_LINES = 5
"""Lines of the program that are shown of one finding."""


def render(result: Result, colour: bool | None = None, with_counts: bool = True) -> str:
    """As `text.render`, grouped by file and message; with ANSI colours, by default unless NO_COLOR is set."""
    stream = io.StringIO()
    width = shutil.get_terminal_size().columns
    plain = None if colour is None else not colour
    console = Console(file=stream, force_terminal=not plain, no_color=plain, width=width, highlight=False)
    for file in result.files:
        if not file.error and not reported(file):
            continue
        console.print(Text(path(file), "bold"))
        if file.error:
            hue = "bold red" if file.status == "error" else "yellow"
            console.print(Text.assemble("  ", (f"{failure(file)} ", hue), one_line(file.error)))
        for group in alike(reported(file)):
            _print(console, file, group)
        console.print()
    if with_counts:
        console.print(Text(counts(result), "bold"))
    return stream.getvalue()


def _print(console: Console, file: FileResult, group: Sequence[Finding]) -> None:
    """What is to be said once, and below it each place with its line of the program."""
    hue = _COLOURS[group[0].action]
    code, what = (group[0].code, f"bold {hue}"), (f"[{outcome(group[0])}]".replace(" ", _UNBROKEN), hue)
    headline = Text.assemble(code, f" {one_line(group[0].message)} ", what)
    for index, row in enumerate(headline.wrap(console, console.width - 4)):
        row.plain = row.plain.replace(_UNBROKEN, " ")
        row.rstrip()
        console.print(Text("    " if index else "  ") + row)
    lines: dict[tuple[Cell | None, int], list[Finding]] = {}
    for finding in group:
        lines.setdefault((finding.cell, finding.line), []).append(finding)
    shown = [", ".join(map(place, there)) for there in lines.values()]
    wide = max(map(len, shown[:_LINES]))
    for where, (finding, *_) in [*zip(shown, lines.values())][:_LINES]:
        line = visible(file.line_of(finding).strip().expandtabs(4))
        headline = Text.assemble((f"    {where:>{wide}}", "cyan"), ("  " + line, "dim"))
        console.print(headline, no_wrap=True, overflow="ellipsis")
    if shown[_LINES:]:
        console.print(Text(f"    and at {', '.join(shown[_LINES:])}", "cyan"))
