"""What commands print, and where: text from others is made visible first."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Literal, TextIO

import click

from tfmigrate.errors import UserError
from tfmigrate.printable import visible
from tfmigrate.result import Result
from tfmigrate.settings import Format, Settings

COULD_NOT_RUN = 2
INTERRUPTED = 130


def table_width() -> int | None:
    """Columns for tables; None for those of the terminal, or of COLUMNS."""
    return None if sys.stdout.isatty() or os.environ.get("COLUMNS") else 140


def complain(message: str) -> None:
    say(f"tfmigrate: {visible(message)}")


def say(message: str) -> None:
    """Print on stderr, which may well be a terminal, what may hold text from others."""
    click.echo(visible(message, "\n"), err=True)


@dataclass(frozen=True)
class Output:
    """Where a report is written, and how much of it."""

    file: Path | None = None
    """In the place of stdout or stderr."""
    colour: Literal["auto", "always", "never"] = "auto"
    statistics: bool = False
    """The findings counted, and not told one by one."""
    quiet: bool = False
    """The findings alone."""
    also: tuple[tuple[Format, Path], ...] = ()
    """Further forms of the same report, each with its file."""

    def say(self, message: str) -> None:
        """A remark, on stderr."""
        if not self.quiet:
            say(message)


def show(result: Result, chosen: Settings, stream: TextIO, output: Output | None = None) -> None:
    """Writes the report in the form that the settings ask for. Raises UserError where the file cannot be written."""
    output = output or Output()
    deliver(_rendered(result, chosen, output, output.file is None and stream.isatty()), stream, output.file)
    for form, file in output.also:
        data = _rendered(result, replace(chosen, format=form), Output(file), to_terminal=False)
        deliver(data, stream, file, "--also")


def deliver(data: bytes, stream: TextIO, file: Path | None, option: str = "--output-file") -> None:
    """Writes to `file`, or to the stream where there is none. Raises UserError where that cannot be."""
    if file is None:
        write_bytes(data, stream)
        return
    try:
        file.write_bytes(data)
    except OSError as error:
        raise UserError(f"{option} {file}: cannot be written: {error.strerror}") from None


def _rendered(result: Result, chosen: Settings, output: Output, to_terminal: bool) -> bytes:
    form = "statistics" if output.statistics else chosen.format
    grouped = form == "grouped" or (form == "text" and (to_terminal or output.colour == "always"))
    if grouped and result.files:
        from tfmigrate.report import terminal  # Loads rich, which a run without a hit never needs.

        colour = {"always": True, "never": False, "auto": None if to_terminal else False}[output.colour]
        # The terminal's own colours are escape sequences too: that report takes care of the text from others itself.
        return terminal.render(result, colour, with_counts=not output.quiet).encode()
    form = "text" if grouped else form
    more = {"with_counts": not output.quiet} if form in ("text", "statistics") else {}
    if output.statistics:
        more["as_json"] = chosen.format == "json"
    return visible(str(import_module(f"tfmigrate.report.{form}").render(result, **more)), "\n").encode()


def write(text: str) -> None:
    """Print on stdout what may hold text from others."""
    write_bytes(visible(text, "\n").encode())


def write_json(document: object) -> None:
    import json

    write(json.dumps(document, indent=2) + "\n")


def write_bytes(data: bytes, stream: TextIO | None = None) -> None:
    buffer = (stream or sys.stdout).buffer
    buffer.write(data)
    buffer.flush()


def write_page(markdown: str) -> None:
    if not sys.stdout.isatty():
        write(markdown)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(markdown))
