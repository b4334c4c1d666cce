"""Patterns in the language of .gitignore, as they are written in a .gitignore, a setting or an option."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


def compiled(lines: Sequence[str]) -> GitIgnoreSpec:
    """The patterns as one. Raises ValueError for a malformed one, with its text."""
    from pathspec import GitIgnoreSpec  # Late: as slow as a walk over 10,000 files.

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of `re`, about a pattern such as [[a]
        try:
            return GitIgnoreSpec.from_lines(lines)
        except re.error as error:
            raise ValueError(f"invalid pattern {error.pattern!r}: {error.msg}") from None


def well_formed(lines: Sequence[str]) -> list[str]:
    """The lines without the malformed ones, which match nothing for git either."""
    return [line for line in lines if malformed(line) is None]


def malformed(line: str) -> str | None:
    """Why a pattern cannot be used, or None."""
    try:
        compiled([line])
    except ValueError as error:
        return str(error)
    return None
