"""The last look before a file is written: is the result what it claims to be?"""

from __future__ import annotations

import ast
import warnings
from collections import Counter

import libcst as cst

from tfmigrate.walk import comments_in


def compiles(text: str) -> None:
    """Raises SyntaxError or ValueError where Python itself would; LibCST lets some of it through."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compile(text, "<source>", "exec", dont_inherit=True)


def objection(before: cst.Module, before_text: str, after_text: str) -> str | None:
    """Why a file's result must not be written, or None."""
    if before.code != before_text:
        return "LibCST does not give its white space back as it was (at the end of the file, most likely: strip it)"
    try:
        after = cst.parse_module(after_text)
        compiles(after_text)
    except (cst.ParserSyntaxError, SyntaxError, ValueError) as error:
        return f"the result would not parse ({error})".replace("\n", " ")
    lost = Counter(comments_in(before)) - Counter(comments_in(after))
    return f"the comment {next(iter(lost))!r} would be lost" if lost else None


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
