"""The last look before a file is written: is the result what it claims to be?"""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter

import libcst as cst

from tfmigrate.walk import comments_in


def compiles(text: str) -> None:
    """Raises SyntaxError or ValueError where Python itself would; LibCST lets some of it through."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compile(text, "<source>", "exec", dont_inherit=True)


_TAIL = re.compile(r"#[^\r\n]*")


def objection(before: str, printed: str, after: str) -> str | None:
    """Why a file's result must not be written, or None; `printed` is what LibCST gives back for `before`."""
    if printed != before:
        return "LibCST does not give its white space back as it was (at the end of the file, most likely: strip it)"
    try:
        compiles(after)
        # A comment runs to the end of its line. Only where such an end is missing need the trees be looked at.
        if Counter(_TAIL.findall(before)) <= Counter(_TAIL.findall(after)):
            return None
        lost = _comments(before) - _comments(after)
    except (cst.ParserSyntaxError, SyntaxError, ValueError) as error:
        return f"the result would not parse ({error})".replace("\n", " ")
    return f"the comment {next(iter(lost))!r} would be lost" if lost else None


def _comments(text: str) -> Counter[str]:
    return Counter(comments_in(cst.parse_module(text)))


def mentions(text: str, wanted: frozenset[str]) -> bool:
    """Whether code, other than comments and strings, has one of the names in it."""
    if not any(name in text for name in wanted):
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    return any(
        (isinstance(node, ast.Name) and node.id in wanted)
        or (isinstance(node, ast.Attribute) and node.attr in wanted)
        or (isinstance(node, ast.alias) and node.name.rsplit(".", 1)[-1] in wanted | {"*"})
        for node in ast.walk(tree)
    )
