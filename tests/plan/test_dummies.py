"""The type of pandas.get_dummies(), written out where it was left to pandas."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, with_model

PANDAS = "import pandas as pd\nfrom pandas import get_dummies\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("pd.get_dummies(frame)", 'pd.get_dummies(frame, dtype="uint8")'),
        ("get_dummies(frame.kind, prefix='k')", "get_dummies(frame.kind, prefix='k', dtype=\"uint8\")"),
    ],
)
def test_the_old_type_is_written_out(old: str, new: str) -> None:
    file = check_migrated(with_model(f"{PANDAS}y = {old}.values"))
    assert f"y = {new}.values\n" in file.after
    assert actions(file, "TFM249") == ["rewrite"]


@pytest.mark.parametrize(
    "call",
    ["pd.get_dummies(frame, dtype=float)", "pd.get_dummies(frame, **settings)", "own.get_dummies(frame)",
     "pd.get_dummies(frame, None, '_', False, None, False, False, int)"],
)  # fmt: skip
def test_others_stay(call: str) -> None:
    file = check_migrated(with_model(f"{PANDAS}y = {call}"))
    assert f"y = {call}\n" in file.after
    assert actions(file, "TFM249") == []
