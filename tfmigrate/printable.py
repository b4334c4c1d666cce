"""Text from others made safe to print: code, file names and exceptions may hold what a terminal obeys.

An escape sequence clears the screen or draws a clean result over the true one; U+202E turns the reading order round;
most control characters make XML that nothing reads. Each such character is shown as Python's repr() shows it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

Value = TypeVar("Value")

_COLOURS = re.compile(r"\x1b\[[\d;:]*m")


def visible(text: str, keep: str = "") -> str:
    """`text` with an escape such as `\\x1b` or `\\u202e` for each character that is not printable, but those in `keep`.

    Spaces of every width stay. A byte that is no UTF-8, in a file's name, shows as `\\xff`.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep or unicodedata.category(c) == "Zs" else _escape(c) for c in text)


def _escape(character: str) -> str:
    if "\udc80" <= character <= "\udcff":  # os.fsdecode's stand-in for a byte
        return f"\\x{ord(character) - 0xDC00:02x}"
    return repr(character)[1:-1]


def uncoloured(text: str) -> str:
    """`text` without the sequences that only set colours and weight, which Keras puts into its messages."""
    return _COLOURS.sub("", text)


def everywhere(value: Value) -> Value:
    """A value of dataclasses, tuples, lists and mappings with every text in it `visible`; line breaks stay."""
    cleaned: Value = _everywhere(value)
    return cleaned


def _everywhere(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value, "\n")
    if is_dataclass(value) and not isinstance(value, type):
        return replace(
            value, **{field.name: _everywhere(getattr(value, field.name)) for field in fields(value) if field.init}
        )
    if type(value) in (tuple, list):
        return type(value)(map(_everywhere, value))
    if isinstance(value, Mapping):
        return {_everywhere(key): _everywhere(item) for key, item in value.items()}
    return value


def both_ends(text: str, length: int) -> str:
    """A text of at most `length` characters: of a longer one the start and the end, with dots between, at spaces."""
    if len(text) <= length:
        return text
    end = text[-(length // 2) :]
    end = end[end.find(" ") + 1 :]
    start = text[: length - len(end) - len(" ... ")]
    return f"{start[: start.rfind(' ')] if ' ' in start else start} ... {end}"
