r"""Regular expressions that read the names of a program's files: `re.match(r".*/run_(\d{4})\.h5", path)`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice, product

import libcst as cst

from tfmigrate.file_names import OLD_ENDINGS
from tfmigrate.plan.change.calls import text_of
from tfmigrate.plan.change.paths import with_gaps

_OLD = "|".join(ending.removeprefix(".") for ending in OLD_ENDINGS)
_ENDING = re.compile(rf"(\\{{1,2}})\.({_OLD})(?=[)$]*(?:\\{{1,2}}Z)?[\"']*$)")
"""Of a name, at the end of the pattern. Who escapes the dot writes a regular expression."""
_GAP = re.compile(r"\{[^{}]*\}|%[-#0-9.]*[a-z]|\*\w*\*?")
_WIDTH = re.compile(r"(?:%|:)0?(\d*)d\}?$")
_FILLED = ("0001", "one", "1", "0.1234")
"""What a gap may be filled with: a number of some width, a word, a fraction."""
_FEW = 64
_SEPARATORS = re.compile(r"\[[/\\]+\]|/")
_IN_PATTERN = ((re.compile(r"%[-#0-9.]*[a-z]"), ".*"), (re.compile(r"\{(?:[A-Za-z_]\w*)?\}"), ".*"))
"""What `%` and format() fill in; `{4}` is a count."""
_FOLDERS = ("", "logs/", "logs/run20200101T0101/")


def reads(node: cst.SimpleString | cst.FormattedString, name: str) -> bool:
    """Whether a text is a regular expression that finds the file of a name, gaps filled in."""
    text = _pattern_of(node)
    if text is None or _ENDING.search(text) is None:
        return False
    return any(_finds(pattern, example) for pattern in _variants(text) for example in _examples(name))


def with_ending(written: str, new_ending: str) -> str:
    """The code of such a text, which finds the file under its old and under its new ending."""
    found = _ENDING.search(written)
    assert found is not None
    escape, old = found.groups()
    new = new_ending.removeprefix(".").replace(".", f"{escape}.")
    return f"{written[: found.start()]}{escape}.(?:{new}|{old}){written[found.end() :]}"


def _pattern_of(node: cst.SimpleString | cst.FormattedString) -> str | None:
    if isinstance(node, cst.SimpleString):
        return text_of(node)
    return with_gaps(node) if "r" in node.start.lower() else None


def _variants(text: str) -> Iterator[str]:
    """The pattern, and its part for the last word of a path, with anything where something is filled in later."""
    for gap, anything in _IN_PATTERN:
        text = gap.sub(anything, text)
    yield text
    yield _SEPARATORS.split(text)[-1]


def _finds(pattern: str, name: str) -> bool:
    try:
        return any(re.match(pattern, folder + name) for folder in _FOLDERS)
    except re.error:
        return False


def _examples(name: str) -> Iterator[str]:
    """File names of a program with something in each gap."""
    word = name.replace("\\", "/").rpartition("/")[2]
    pieces, gaps = _GAP.split(word), _GAP.findall(word)
    for filled in islice(product(*map(_fillings, gaps)), _FEW):
        yield "".join(part for pair in zip(pieces, (*filled, ""), strict=True) for part in pair)


def _fillings(gap: str) -> Iterable[str]:
    width = _WIDTH.search(gap)
    return ("1".rjust(int(width[1] or 1), "0"),) if width is not None else _FILLED
