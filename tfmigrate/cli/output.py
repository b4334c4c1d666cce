"""What commands print, and where: text from others is made visible first."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal, TextIO

import click

from tfmigrate.errors import UserError
from tfmigrate.printable import visible
from tfmigrate.result import Result
from tfmigrate.settings import Settings

COULD_NOT_RUN = 2
INTERRUPTED = 130


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

    def say(self, message: str) -> None:
        """A remark, on stderr."""
        if not self.quiet:
            say(message)


def show(result: Result, chosen: Settings, stream: TextIO, output: Output | None = None) -> None:
    """Writes the report in the form that the settings ask for. Raises UserError where the file cannot be written."""
    output = output or Output()
    deliver(_rendered(result, chosen, output, output.file is None and stream.isatty()), stream, output.file)


def deliver(data: bytes, stream: TextIO, file: Path | None) -> None:
    """Writes to `file`, or to the stream where there is none. Raises UserError where that cannot be."""
    if file is None:
        write_bytes(data, stream)
        return
    try:
        file.write_bytes(data)
    except OSError as error:
        raise UserError(f"--output-file {file}: cannot be written: {error.strerror}") from None


def _rendered(result: Result, chosen: Settings, output: Output, to_terminal: bool) -> bytes:
    name: str = chosen.format
    if output.statistics:
        from tfmigrate.report import statistics

        return visible(statistics.render(result, chosen, with_counts=not output.quiet), "\n").encode()
    if name == "text" and not result.files:
        return b"" if output.quiet else visible(_report("text", result, chosen), "\n").encode()
    if name in ("text", "grouped") and (to_terminal or name == "grouped" or output.colour == "always"):
        from tfmigrate.report import terminal  # Loads rich, which a run without a hit never needs.

        colour = {"always": True, "never": False, "auto": None if to_terminal else False}[output.colour]
        # The terminal's own colours are escape sequences too: that report takes care of the text from others itself.
        return terminal.render(result, chosen, colour, with_counts=not output.quiet).encode()
    if name == "text":
        from tfmigrate.report import text as plain

        return visible(plain.render(result, chosen, with_counts=not output.quiet), "\n").encode()
    return visible(_report(name, result, chosen), "\n").encode()


def _report(name: str, result: Result, chosen: Settings) -> str:
    return str(import_module(f"tfmigrate.report.{name}").render(result, chosen))


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
