"""docs/errors.md begins from error messages: each is one that TensorFlow raises, and each leads to a rule."""

from __future__ import annotations

import json
import re

import pytest

from tests import forks
from tests.conftest import ROOT
from tfmigrate import rules

PAGE = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
SECTIONS = {part.partition("\n")[0]: part for part in PAGE.split("\n## ")[1:]}
BLOCKS = re.findall(r"^```text\n(.*?)^```$", PAGE, flags=re.M | re.S)
MESSAGES = [line for block in BLOCKS for line in block.splitlines()]


def test_every_section_leads_to_a_rule_or_the_guide() -> None:
    known = rules.by_code()
    for title, text in SECTIONS.items():
        codes = re.findall(r"\]\(rules/(TFM\d+)\.md\)", text)
        assert codes or "(guide.md)" in text, title
        assert set(codes) <= known.keys()


def test_every_section_but_the_last_begins_with_a_message() -> None:
    *erring, silent = SECTIONS.values()
    assert all(text.partition("\n")[2].startswith("\n```text\n") for text in erring)
    assert "```" not in silent
    assert len(MESSAGES) == len(set(MESSAGES)) > 40


@pytest.mark.runs_tensorflow
def test_the_messages_are_those_of_tensorflow(python: forks.Python) -> None:
    done = python(3, ROOT / "tests" / "errors_raised.py")
    (line,) = (one for one in done.stdout.splitlines() if one.startswith("RAISED "))
    raised = json.loads(line.removeprefix("RAISED "))
    assert len(raised) == len(MESSAGES), raised

    def is_raised(message: str) -> bool:
        pattern = ".*".join(map(re.escape, message.split("...")))
        return any(re.match(pattern, one, flags=re.S) for one in raised)

    assert [message for message in MESSAGES if not is_raised(message)] == []
