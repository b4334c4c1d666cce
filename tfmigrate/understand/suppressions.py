"""`# tfmigrate: skip` and `# tfmigrate: skip[TFM002]`: what the user wants left alone."""

from __future__ import annotations

import io
import re
import tokenize
from dataclasses import dataclass

COMMENT = re.compile(r"#\s*tfmigrate:\s*skip(?:\[([^\]]*)\])?")


@dataclass(frozen=True)
class Suppression:
    """One comment; `codes` empty means every code. `line` counts from 1."""

    line: int
    column: int
    codes: frozenset[str]

    def covers(self, line: int, code: str) -> bool:
        return self.line == line and (not self.codes or code in self.codes)


def in_lines(text: str) -> tuple[Suppression, ...]:
    """As read_suppressions, in a file that is no Python but has its comments from `#` to the end of the line."""
    suppressions = []
    for number, line in enumerate(text.splitlines(), 1) if "tfmigrate" in text else ():
        match = COMMENT.search(line)
        if match is not None:
            alone = not line[: match.start()].strip()
            suppressions.append(_suppression(match, number, match.start() + 1, alone))
    return tuple(suppressions)


def read_suppressions(text: str) -> tuple[Suppression, ...]:
    """Every suppression comment; one on a line of its own stands for the line below it."""
    if "tfmigrate" not in text:
        return ()
    suppressions = []
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    for token in tokens:
        match = COMMENT.match(token.string) if token.type == tokenize.COMMENT else None
        if match is None:
            continue
        alone = not token.line[: token.start[1]].strip()
        suppressions.append(_suppression(match, token.start[0], token.start[1] + 1, alone))
    return tuple(suppressions)


def _suppression(match: re.Match[str], line: int, column: int, alone: bool) -> Suppression:
    codes = frozenset(code.strip() for code in (match[1] or "").split(",") if code.strip())
    return Suppression(line + (1 if alone else 0), column, codes)
