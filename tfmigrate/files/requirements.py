"""What the requirement files of a project ask for."""

from __future__ import annotations

from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from tfmigrate.files import regular

NAMES = ("requirements*.txt", "requirements/*.txt", "constraints*.txt")


def requirements_in(folder: Path) -> dict[str, str]:
    """What the requirement files of a folder ask for, canonical name of the package to requirement, the first that
    names it. Options, links and files are left out, markers are not looked at."""
    pins: dict[str, str] = {}
    for pattern in NAMES:
        for path in sorted(folder.glob(pattern)):
            try:
                text = regular.read(path).decode(errors="replace")
            except OSError:
                continue
            for line in text.splitlines():
                try:
                    asked = Requirement(line.split("#")[0].strip())
                except InvalidRequirement:
                    continue
                if asked.url is None:
                    pins.setdefault(canonicalize_name(asked.name), f"{asked.name}{asked.specifier}")
    return pins
