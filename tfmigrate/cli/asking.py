"""`fix --interactive`: each program's patch, and what is to be done with it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Literal

import click

from tfmigrate.printable import visible
from tfmigrate.report import diff
from tfmigrate.report.text import alike, also, path, reported, told
from tfmigrate.result import Result

_ANSWERS = ("y", "n", "a", "q")
_HELP = "y: write it; n: leave it; a: write it and all others; q: leave it and all others"
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


class Questions:
    """Shows programs on stdout and takes answers from stdin; remembers only `a` and `q`."""

    def __init__(self, colour: Literal["auto", "always", "never"], before: Callable[[], None]) -> None:
        self.before = before
        """Called before something is shown."""
        self.colour = colour == "always" or (colour == "auto" and sys.stdout.isatty() and not os.getenv("NO_COLOR"))
        self.all: bool | None = None
        """The answer for all programs that are left."""

    def accept(self, program: Result) -> bool:
        """Whether a program shall be written. Raises click.Abort where stdin ends."""
        if self.all is not None:
            return self.all
        self.before()
        for file in program.files:
            for first, *others in alike(reported(file)):
                click.echo(visible(f"{path(file)}:{told(first)}{also(others)}"))
        patch = visible(diff.render(program), "\n\t")
        for line in patch.splitlines():
            hue = _COLOURS.get(line[:1]) if not line.startswith(("+++", "---")) else None
            shown = click.style(line, fg=hue, bold=True if hue is None else None) if line[:1] != " " else line
            click.echo(shown if self.colour else line, color=self.colour)
        names = ", ".join(path(file) for file in program.files if file.changed)
        question = f"Migrate {names}? ({_HELP})"
        answer = click.prompt(question, type=click.Choice(_ANSWERS), default="y", show_choices=False)
        if answer in ("a", "q"):
            self.all = answer == "a"
        return answer in ("y", "a")
