"""The last look before a file is written: is the result what it claims to be?"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import libcst as cst

from tfmigrate.consistency import unresolved
from tfmigrate.quiet import reading_code
from tfmigrate.result import Finding
from tfmigrate.walk import comments_in


def compiles(text: str) -> None:
    """Raises SyntaxError or ValueError where Python itself would; LibCST lets some of it through."""
    with reading_code():
        compile(text, "<source>", "exec", dont_inherit=True)


_TAIL = re.compile(r"#[^\r\n]*")


def objection(before: str, printed: str, after: str, forgotten: Iterable[str] = ()) -> str | None:
    """Why a file's result must not be written, or None.

    `printed` is what LibCST gives back for `before`; `forgotten` are the comments that go, each as often as it goes.
    """
    going = Counter(forgotten)
    if printed != before:
        return "LibCST does not preserve its white space (most likely at the end of the file: strip it)"
    try:
        compiles(after)
        # A comment runs to the end of its line. Only where such an end is missing need the trees be looked at.
        if Counter(_TAIL.findall(before)) <= Counter(_TAIL.findall(after)) + going:
            return None
        lost = _comments(before) - _comments(after) - going
    except (cst.ParserSyntaxError, SyntaxError, ValueError) as error:
        return f"the result would not parse ({error})".replace("\n", " ")
    return f"the comment {next(iter(lost))!r} would be lost" if lost else None


def unexplained(changed: Iterable[str], findings: Mapping[str, Sequence[Finding]]) -> str | None:
    """The first of the changed files that no finding says is rewritten, or None."""
    return next((path for path in changed if not any(f.action == "rewrite" for f in findings[path])), None)


def torn(before: Mapping[str, str], after: Mapping[str, str]) -> str | None:
    """A name that one file of a program would take in vain from another one, though it was there; None if all fit."""
    missing = unresolved(after)
    lost = sorted(missing - unresolved(before)) if missing else []
    return f"{lost[0][0]} would no longer find {lost[0][1]}" if lost else None


def _comments(text: str) -> Counter[str]:
    return Counter(comments_in(cst.parse_module(text)))


def mentions(text: str, wanted: frozenset[str]) -> bool:
    """Whether code, other than comments and strings, has one of the names in it."""
    if not any(name in text for name in wanted):
        return False
    with reading_code():
        tree = ast.parse(text)
    return any(
        (isinstance(node, ast.Name) and node.id in wanted)
        or (isinstance(node, ast.Attribute) and node.attr in wanted)
        or (isinstance(node, ast.alias) and node.name.rsplit(".", 1)[-1] in wanted | {"*"})
        for node in ast.walk(tree)
    )
