"""K.batch_dot of four dimensions (TFM237)."""

from __future__ import annotations

import pytest

from tests.plan.whole import migrated


@pytest.mark.parametrize(
    ("axes", "done"), [("(3, 2)", ["warn"]), ("[2, 3]", ["warn"]), ("[2, 1]", []), ("2", []), ("a", [])]
)
def test_axes_tell_of_four_dimensions(axes: str, done: list[str]) -> None:
    lines = f"p = K.batch_dot(x, y, axes={axes})"
    assert migrated(lines, "TFM237") == (lines, done)


def test_without_axes_nothing_tells() -> None:
    assert migrated("p = K.batch_dot(x, y)", "TFM237")[1] == []
