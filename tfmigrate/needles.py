"""What a scan looks for, read off the front matter of the rules. Most runs find nothing and need no more of a rule."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tfmigrate.errors import UserError

_LINE = re.compile(rb"^needles = (\[[^\]]*\])\r?$", re.M)
_HEAD = 600
"""Bytes of a rule in which its needles stand, as a rule; where they do not, all of it is read."""


class RuleError(UserError):
    """A malformed rule; the text begins with file and line."""


@cache
def needles() -> tuple[bytes, ...]:
    """A file without any of these concerns no rule; each that holds a shorter one is left out. Raises RuleError."""
    lines = {_line(path) for path in rule_files()}
    strings = {needle for line in lines for needle in ast.literal_eval(line.decode())}
    return tuple(sorted(n.encode() for n in strings if not any(other != n and other in n for other in strings)))


def needles_with(aliases: Iterable[str]) -> tuple[bytes, ...]:
    """These, and the last part of each name that the user gave."""
    return (*needles(), *(alias.rsplit(".", 1)[-1].encode() for alias in aliases))


def _line(path: Path) -> bytes:
    # To read all of the TOML takes fifty times as long, and every run does this.
    with open(path, "rb", buffering=0) as file:
        line = _LINE.search(file.read(_HEAD))
    line = line or _LINE.search(parts(path)[0].encode())
    if not line:
        raise RuleError(f"{path}:1: the front matter has no line `needles = [...]`")
    return line[1]


def rule_files() -> list[Path]:
    """Every file of rules/, by name. Raises RuleError."""
    here = Path(__file__).resolve().parent
    # The wheel carries the rules inside the package; a checkout keeps them beside it.
    folder = next((f for f in (here / "_rules", here.parent / "rules") if f.is_dir()), None)
    if folder is None:
        raise RuleError(f"{here / '_rules'}:1: the rules are missing; install tfmigrate again")
    return sorted(folder.glob("*.md"))


def parts(path: Path) -> tuple[str, str]:
    """A rule's front matter and the text after it. Raises RuleError."""
    parts = path.read_text(encoding="utf-8").split("+++\n", 2)
    if len(parts) != 3 or parts[0]:
        raise RuleError(f"{path}:1: no front matter; the file begins with TOML between two `+++` lines")
    return parts[1], parts[2]
