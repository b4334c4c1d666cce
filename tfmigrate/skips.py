"""`# tfmigrate: skip[CODE]` comments, written for findings that are to stay as they are: `check --add-skips`."""

from __future__ import annotations

import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Set

from tfmigrate.result import Finding, lines_of
from tfmigrate.understand.suppressions import COMMENT


def with_skips(text: str, findings: Iterable[Finding]) -> str:
    """A Python program with a comment for each finding: at the end of its line, or above it where that line has another
    comment, or ends inside a string or with a backslash. A finding that has no such place gets none."""
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    commented = {token.start[0] for token in tokens if token.type == tokenize.COMMENT}
    return _with_comments(text, findings, _open_ends(tokens), commented)


def with_skips_in_lines(text: str, findings: Iterable[Finding]) -> str:
    """As with_skips, in a file that is no Python, where `#` begins a comment on any line."""
    commented = {number for number, line in enumerate(lines_of(text), 1) if "#" in line}
    return _with_comments(text, findings, frozenset(), commented)


def _with_comments(text: str, findings: Iterable[Finding], open_: Set[int], commented: Set[int]) -> str:
    codes: dict[int, set[str]] = defaultdict(set)
    for finding in findings:
        codes[finding.line].add(finding.code)
    lines = lines_of(text)
    for number in sorted(codes, reverse=True):  # From below: what is inserted moves no line that is still to come.
        _skip(lines, number, codes[number], open_, commented)
    return "".join(lines)


def _open_ends(tokens: Iterable[tokenize.TokenInfo]) -> frozenset[int]:
    """The lines at whose end no comment can stand: inside a string, or behind a backslash."""
    lines: set[int] = set()
    last = 0
    for token in tokens:
        if token.start[0] > last and token.line.rstrip("\r\n").endswith("\\"):
            lines.add(token.start[0])
        last = token.start[0]
        if token.end[0] > token.start[0] and token.string.strip():
            lines.update(range(token.start[0], token.end[0]))
    return frozenset(lines)


def _skip(lines: list[str], number: int, codes: Set[str], open_: Set[int], commented: Set[int]) -> None:
    """Put the comment for one line, counted from 1, into `lines`."""
    for place in (number, number - 1):  # A comment above stands alone on its line.
        match = COMMENT.search(lines[place - 1]) if place in commented and place > 0 else None
        if match is not None and (place == number or not lines[place - 1][: match.start()].strip()):
            before = {code.strip() for code in (match[1] or "").split(",") if code.strip()}
            start, end = match.span()
            lines[place - 1] = lines[place - 1][:start] + _comment({*before, *codes}) + lines[place - 1][end:]
            return
    line = lines[number - 1]
    bare = line.rstrip("\r\n")
    if number not in open_ and number not in commented:
        lines[number - 1] = f"{bare.rstrip()}  {_comment(codes)}{line[len(bare) :]}"
    elif number - 1 not in open_:
        indent = re.match(r"[ \t]*", bare)
        lines.insert(number - 1, f"{indent[0] if indent else ''}{_comment(codes)}{line[len(bare) :] or chr(10)}")


def _comment(codes: Set[str]) -> str:
    return f"# tfmigrate: skip[{', '.join(sorted(codes))}]"
