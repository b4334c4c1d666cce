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


def render(result: Result, settings: Settings) -> str:
    """As `text.render`, with ANSI colours unless NO_COLOR is set, grouped by file."""
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=shutil.get_terminal_size().columns, highlight=False)
    for file in result.files:
        console.print(Text(path(file), "bold"))
        if file.error:
            colour = "bold red" if file.status == "error" else "yellow"
            console.print(Text.assemble("  ", (f"{failure(file)} ", colour), one_line(file.error)))
        for number, finding in enumerate(file.findings):
            colour = _COLOURS[finding.action]
            code, what = (finding.code, f"bold {colour}"), (f"[{outcome(finding)}]", colour)
            told = Text.assemble((f"{place(finding)} ", "cyan"), code, f" {one_line(finding.message)} ", what)
            for index, row in enumerate(told.wrap(console, console.width - 6)):
                console.print(Text("      " if index else "  ") + row)
            next_one = file.findings[number + 1] if number + 1 < len(file.findings) else None
            same_line = next_one is not None and (next_one.line, next_one.cell) == (finding.line, finding.cell)
            if not same_line and (line := visible(file.line_of(finding).strip().expandtabs(4))):
                console.print(Text(f"      {line}", "dim"), no_wrap=True, overflow="ellipsis")
        console.print()
    console.print(Text(counts(result), "bold"))
    return stream.getvalue()
