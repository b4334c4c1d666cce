"""Python warns of code that it is given to read, such as `x is 1` or the escape "\\d": that is of no interest here."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def reading_code() -> Iterator[None]:
    """Read, evaluate and compile code without these warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.simplefilter("ignore", DeprecationWarning)  # Of an escape, before Python 3.12.
        yield
