"""The text report for a person at a terminal: colours, and the source line of each finding."""

from __future__ import annotations

import io
import shutil

from rich.console import Console
from rich.text import Text

from tfmigrate.printable import visible
from tfmigrate.report.text import counts, failure, one_line, outcome, path, place
from tfmigrate.result import Result
from tfmigrate.settings import Settings

_COLOURS = {"rewrite": "green", "refuse": "red", "warn": "yellow", "suppressed": "dim"}


def render(result: Result, settings: Settings, colour: bool | None = None, with_counts: bool = True) -> str:
    """As `text.render`, grouped by file; with ANSI colours, by default unless NO_COLOR is set."""
    stream = io.StringIO()
    width = shutil.get_terminal_size().columns
    plain = None if colour is None else not colour
    console = Console(file=stream, force_terminal=not plain, no_color=plain, width=width, highlight=False)
    for file in result.files:
        console.print(Text(path(file), "bold"))
        if file.error:
            hue = "bold red" if file.status == "error" else "yellow"
            console.print(Text.assemble("  ", (f"{failure(file)} ", hue), one_line(file.error)))
        for number, finding in enumerate(file.findings):
            hue = _COLOURS[finding.action]
            code, what = (finding.code, f"bold {hue}"), (f"[{outcome(finding)}]", hue)
            told = Text.assemble((f"{place(finding)} ", "cyan"), code, f" {one_line(finding.message)} ", what)
            for index, row in enumerate(told.wrap(console, console.width - 6)):
                console.print(Text("      " if index else "  ") + row)
            next_one = file.findings[number + 1] if number + 1 < len(file.findings) else None
            same_line = next_one is not None and (next_one.line, next_one.cell) == (finding.line, finding.cell)
            if not same_line and (line := visible(file.line_of(finding).strip().expandtabs(4))):
                console.print(Text(f"      {line}", "dim"), no_wrap=True, overflow="ellipsis")
        console.print()
    if with_counts:
        console.print(Text(counts(result), "bold"))
    return stream.getvalue()
