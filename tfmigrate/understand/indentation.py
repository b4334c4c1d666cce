"""Tabs and spaces mixed in the indentation, which Python 2 read, Python 3 reads in part, and LibCST in less. As spaces,
all read the same program."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Set

from tfmigrate.quiet import reading_code

_TABS = re.compile(r"^[ \t]*\t[ \t]*")
_OPENS, _CLOSES = ("FSTRING_START", "TSTRING_START"), ("FSTRING_END", "TSTRING_END")


def spaced(text: str) -> str | None:
    """The same program without tabs in its indentation, each up to the next multiple of 8 columns as Python counts.

    None where there is no tab, or where the program would not be the same. Line numbers stay; strings are not touched.
    Raises SyntaxError where tabs are not all that Python 3 refuses.
    """
    inside = _lines_inside_strings(_expanded(text, frozenset()))
    new = _expanded(text, inside)
    if new == text:
        return None
    tree = _tree(new)
    return new if is_python_2(text) or tree == _tree(text) else None


def aligned(text: str, printed: str) -> str | None:
    """`printed`, where that is the same program with other tabs and spaces in front of some of its lines.

    LibCST prints a line with the indentation of its block, also where Python found another one that is as wide.
    None where the two are one text, or differ in more.
    """
    old, new = (code.split("\n") for code in (text, printed))
    if old == new or [line.lstrip(" \t") for line in old] != [line.lstrip(" \t") for line in new]:
        return None
    return printed if _tree(printed) == _tree(text) else None


def is_python_2(text: str) -> bool:
    """Whether Python 3 refuses the indentation because a block depends on the width of a tab, which Python 2 knew."""
    try:
        _tree(text)
    except SyntaxError as error:
        return isinstance(error, TabError)
    return False


def _expanded(text: str, but: Set[int]) -> str:
    """With the tabs as spaces in the indentation of all lines `but` these."""
    return "\n".join(
        line if number in but else _TABS.sub(lambda tabs: tabs[0].expandtabs(8), line)
        for number, line in enumerate(text.split("\n"), 1)
    )


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
    with reading_code():
        return ast.dump(ast.parse(text))
