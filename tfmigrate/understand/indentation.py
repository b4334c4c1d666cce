"""Indentation that Python reads and LibCST does not: tabs and spaces mixed. As spaces, both read the same program."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Set

_TABS = re.compile(r"^[ \t]*\t[ \t]*")
_OPENS, _CLOSES = ("FSTRING_START", "TSTRING_START"), ("FSTRING_END", "TSTRING_END")


def spaced(text: str) -> str | None:
    """The same program without tabs in its indentation, each up to the next multiple of 8 columns as Python counts.

    None where there is no tab, or where the program would not be the same. Line numbers stay; strings are not touched.
    """
    inside = _lines_inside_strings(text)
    lines = text.split("\n")
    new = "\n".join(
        line if number in inside else _TABS.sub(lambda tabs: tabs[0].expandtabs(8), line)
        for number, line in enumerate(lines, 1)
    )
    return new if new != text and _tree(new) == _tree(text) else None


def shift(before: str, after: str, line: int) -> int:
    """How many columns the text of a line moved to the right."""
    old, new = (text.split("\n")[line - 1] for text in (before, after))
    return len(new) - len(old)


def _lines_inside_strings(text: str) -> Set[int]:
    """The lines that begin within a string."""
    lines: set[int] = set()
    opened: list[int] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = tokenize.tok_name[token.type]
        if kind in _OPENS:
            opened.append(token.start[0])
        first = opened.pop() if kind in _CLOSES else token.start[0]
        if kind == "STRING" or kind in _CLOSES:
            lines.update(range(first + 1, token.end[0] + 1))
    return lines


def _tree(text: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.dump(ast.parse(text))
