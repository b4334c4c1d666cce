"""Errors a user can mend: their text is shown as it is, without a traceback."""

from __future__ import annotations

from collections.abc import Iterable


class UserError(Exception):
    """What is wrong, where, and what to do about it, in one line."""


def suggestion(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the known word nearest to `word`, or nothing when none is near."""
    import difflib  # Late: most runs make no mistake.

    near = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
