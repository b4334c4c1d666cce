"""What commands print, and where: text from others is made visible first."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TextIO

import click

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


def show(result: Result, chosen: Settings, stream: TextIO) -> None:
    name: str = chosen.format
    if name == "text" and stream.isatty() and result.files:
        name = "terminal"  # Loads rich, which a run without a hit never needs.
    text = str(import_module(f"tfmigrate.report.{name}").render(result, chosen))
    # The terminal's own colours are escape sequences too: that report takes care of the text from others itself.
    write_bytes((text if name == "terminal" else visible(text, "\n")).encode(), stream)


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
