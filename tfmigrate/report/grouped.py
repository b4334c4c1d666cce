"""As a terminal shows it, grouped by file and with the source lines, without colours."""

from __future__ import annotations

from tfmigrate.report import terminal
from tfmigrate.result import Result
from tfmigrate.settings import Settings


def render(result: Result, settings: Settings) -> str:
    return terminal.render(result, settings, colour=False)
