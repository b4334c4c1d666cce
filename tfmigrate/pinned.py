"""The settings of each file: what its project pins is the version that it was written for."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path

from tfmigrate.files import pins
from tfmigrate.result import FileResult
from tfmigrate.settings import Settings


def settings_for(paths: Iterable[str], settings: Settings) -> dict[str, Settings]:
    """Each file's settings: `from_version` is filled in from the pins of the file's own project when not given."""
    own = {path: settings.for_file(path) for path in paths}
    if settings.from_version is not None:
        return own
    pinned = cache(pins.pinned_in)
    versions = cache(lambda folder: pins.written_for(folder, pinned))
    return {
        path: replace(file_settings, from_version=versions(Path(path).parent)) for path, file_settings in own.items()
    }


def odd_pins(paths: Iterable[str]) -> list[FileResult]:
    """Files that would say what the sources at `paths` were written for, but cannot be read."""
    reasons = {odd: why for folder in {Path(path).parent for path in paths} for odd, why in pins.unreadable(folder)}
    message = "cannot be read ({}), so the versions that it pins are unknown"
    return [FileResult(os.path.relpath(path), "skipped", error=message.format(why)) for path, why in reasons.items()]
