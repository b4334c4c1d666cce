"""How much code is read: a file that is larger, or that nests deeper, is an error that names the limit."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tfmigrate.numbering import SCRIPT, Numbering
from tfmigrate.quiet import reading_code

DEEPEST = 500
"""Levels of Python's own syntax tree. Its compiler gives up at about 2,000, and LibCST's parser crashes at 5,000."""
_FRAMES = 20
"""Calls that reading, planning and printing take for a level, at most."""


def too_large(text: str, largest: int) -> str | None:
    """Why a file of this text is not read, or None; `largest`: in characters."""
    if len(text) <= largest:
        return None
    return (
        f"its {len(text):,} characters of Python exceed the limit of {largest:,} for one file; leave it out "
        "(--exclude), or raise the limit (--largest-file) and the time for its program (--program-timeout)"
    )


_ADVICE = "split the expression (or the chain of `elif`), or leave the file out (--exclude)"


def too_deep(text: str, numbering: Numbering = SCRIPT) -> str | None:
    """Why a file of this text is not read, or None.

    Raises SyntaxError or ValueError where Python's parser does.
    """
    try:
        with reading_code():
            line = _deep_line(ast.parse(text)) or _long_run_of_strings(text)
    except (RecursionError, MemoryError):
        return f"its code nests deeper than Python itself can compile; {_ADVICE}"
    if line is None:
        return None
    most = f"the code nests more than {DEEPEST} levels deep, which is the limit"
    return f"{numbering.words(line)}: {most}; {_ADVICE}"


def _deep_line(tree: ast.AST) -> int | None:
    """The line where the code nests too deep; None where it does not."""
    pending = [(tree, 0, 1)]
    while pending:
        node, depth, line = pending.pop()
        line = getattr(node, "lineno", line)
        depth += _levels(node)
        if depth > DEEPEST:
            return line
        pending.extend((child, depth, line) for child in ast.iter_child_nodes(node))
    return None


def _levels(node: ast.AST) -> int:
    """How many nodes LibCST nests for one of Python's own."""
    if isinstance(node, ast.BoolOp):
        return len(node.values)
    if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
        return len(node.generators)
    if isinstance(node, ast.alias):
        return 1 + node.name.count(".")
    return 1


_TOKEN = re.compile(
    r"""
    (?P<string> [A-Za-z]{0,2} (?: \"{3} (?:\\.|[^\\])*? \"{3} | '{3} (?:\\.|[^\\])*? '{3}
                                | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' ) )
    | (?P<between> \#[^\n]* | \s+ | \\\r?\n )
    | \w+ | .
    """,
    re.VERBOSE | re.DOTALL,
)


def _long_run_of_strings(text: str) -> int | None:
    """The line of a string that is put together of too many, one behind the other: LibCST nests them."""
    if text.count('"') + text.count("'") < 2 * DEEPEST:
        return None
    run = start = 0
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "string":
            start = start if run else token.start()
            run += 1
            if run > DEEPEST:
                return text.count("\n", 0, start) + 1
        elif token.lastgroup is None:
            run = 0
    return None


@contextmanager
def room_for_depth() -> Iterator[None]:
    """Calls may nest as deep in the block as code may that is read."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, DEEPEST * _FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
