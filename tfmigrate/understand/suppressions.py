"""`# tfmigrate: skip` and `# tfmigrate: skip[TFM002]`: what the user wants left alone."""

from __future__ import annotations

import io
import re
import tokenize
from dataclasses import dataclass

_COMMENT = re.compile(r"#\s*tfmigrate:\s*skip(?:\[([^\]]*)\])?")


@dataclass(frozen=True)
class Suppression:
    """One comment; `codes` empty means every code. `line` counts from 1."""

    line: int
    column: int
    codes: frozenset[str]

    def covers(self, line: int, code: str) -> bool:
        return self.line == line and (not self.codes or code in self.codes)


def read_suppressions(text: str) -> tuple[Suppression, ...]:
    """Every suppression comment; one on a line of its own stands for the line below it."""
    if "tfmigrate" not in text:
        return ()
    found = []
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    for token in tokens:
        match = _COMMENT.match(token.string) if token.type == tokenize.COMMENT else None
        if match is None:
            continue
        codes = frozenset(code.strip() for code in (match[1] or "").split(",") if code.strip())
        alone = not token.line[: token.start[1]].strip()
        found.append(Suppression(token.start[0] + (1 if alone else 0), token.start[1] + 1, codes))
    return tuple(found)
