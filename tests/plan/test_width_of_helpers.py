"""What is written into users' files is no wider than their own lines, as far as nothing breaks it there."""

from __future__ import annotations

import io
import tokenize
from pathlib import Path

import pytest

from tfmigrate.plan import helpers

WIDTH = 100
SOURCES = sorted(path for path in Path(helpers.__file__).parent.glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_comments_and_docstrings_fit(source: Path) -> None:
    """A line of code is broken in its brackets where it is written; these are not."""
    text = source.read_text(encoding="utf-8")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and token.string.startswith('"""')):
            assert max(map(len, token.line.splitlines())) <= WIDTH, token.line
