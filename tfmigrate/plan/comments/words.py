"""What a comment is about: code that is switched off, the old function and its model, devices, an argument."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

import libcst as cst

PARALLEL = re.compile(r"\b(?:multi[-_ ]?gpu|parallel)[-_ ]models?\b", re.IGNORECASE)
"""The old function, and what it made."""
OF_SEVERAL = re.compile(
    rf"{PARALLEL.pattern}|\b(?:multi(?:ple)?[-_ ])?gpus\b|\bmulti[-_ ]?gpu\b|\bparallel", re.IGNORECASE
)
"""Words about training on several GPUs. Above an import or a condition that is removed, they describe nothing that is
left, since the strategy stands elsewhere."""
OF_DEVICES = re.compile(r"\b(?:cpu|device|template)s?\b", re.IGNORECASE)
"""Words of a claim about the block that kept the template off the GPUs."""
OF_ONE_CASE = re.compile(
    rf"{OF_SEVERAL.pattern}|{OF_DEVICES.pattern}|\b(?:single|one|1|only|each|every|several)[-_ ]gpu\b", re.IGNORECASE
)
"""Words about how many GPUs there are, or where the template is: no longer true where both cases are one."""
ON_CPU = re.compile(r"\bcpus?\b", re.IGNORECASE)
"""The same behind a statement of that block."""
OF_SESSIONS = re.compile(r"\bsess(?:ions?)?\b", re.IGNORECASE)
"""Words of a claim about a session, of which settings alone are left."""
OF_MEANS = re.compile(r"\b(?:scalar|mean|average)s?\b", re.IGNORECASE)
"""Words of a claim about a mean that a loss took of the batch, where it returns a value for each sample now."""
_GOES_ON = re.compile(r"#\W*(?:otherwise|else|this|that|these|it|they|so|thus|hence|therefore)\b", re.IGNORECASE)
"""The beginning of a sentence that continues the one before it."""
_STAYS = re.compile(
    r"#!|#\s*(?:%%|In\[|-\*-|(?:end)?region\b|(?:fmt|yapf|isort|type|tfmigrate|pylint|ruff|flake8|mypy|todo|fixme)\b)"
    r"|.*([-=#*~_])\1\1|.*(?:copyright|licen[cs]e)",
    re.IGNORECASE,
)
"""Banners, licences, and what speaks to a tool or to a colleague: above a statement, it may hold for more than that."""


def may_hold_for_more(comment: cst.Comment) -> bool:
    """Whether a comment above a statement may be about others too; code that is switched off is about none."""
    return _STAYS.match(comment.value) is not None or is_code(comment)


def is_code(comment: cst.Comment) -> bool:
    """Whether a comment is code that somebody has switched off."""
    try:
        (statement,) = ast.parse(comment.value.lstrip("#").strip().rstrip(",")).body
    except (SyntaxError, ValueError):
        return False
    if isinstance(statement, ast.AnnAssign):
        return statement.value is not None  # `note: this` is prose.
    return not isinstance(statement, ast.Expr) or isinstance(statement.value, ast.Call)


def speaking_of(pattern: re.Pattern[str], comments: Sequence[cst.Comment]) -> Iterator[cst.Comment]:
    """The sentences that a pattern is found in, and those that continue one of them."""
    said = False
    for sentence in _sentences(comments):
        said = any(pattern.search(comment.value) for comment in sentence) or (
            said and _GOES_ON.match(sentence[0].value) is not None
        )
        if said:
            yield from sentence


def _sentences(comments: Sequence[cst.Comment]) -> list[list[cst.Comment]]:
    """The lines of a comment, a new sentence at a time."""
    sentences: list[list[cst.Comment]] = []
    for comment in comments:
        if sentences and not sentences[-1][-1].value.rstrip().endswith((".", "!", "?")):
            sentences[-1].append(comment)
        else:
            sentences.append([comment])
    return sentences


def names_one(names: Iterable[str], comment: cst.Comment) -> bool:
    """Whether a comment names one of these arguments, which may be written as several words."""
    words = "|".join(name.replace("_", "[ _-]?") for name in names)
    return bool(words) and re.search(rf"\b(?:{words})\b", comment.value, re.IGNORECASE) is not None
