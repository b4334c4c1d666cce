"""Shapes of symbolic tensors (TFM226)."""

from __future__ import annotations

import pytest

from tests.plan.whole import migrated

TENSOR = "t = Dense(3)(Input((4,)))\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("n = t.get_shape()", "n = t.shape"),
        ("n = t.get_shape().as_list()", "n = list(t.shape)"),
        ("n = t.get_shape().as_list()[1:]", "n = list(t.shape)[1:]"),
        ("n = int(t.get_shape()[1])", "n = int(t.shape[1])"),
        ("n = t.get_shape()[1].value", "n = t.shape[1]"),
        ("n = t.shape[-1].value", "n = t.shape[-1]"),
        ("n = t.shape.as_list()", "n = list(t.shape)"),
        ("n = t.shape.ndims + t.get_shape().ndims", "n = len(t.shape) + len(t.shape)"),
        ("n = t._keras_shape[1]", "n = t.shape[1]"),
        ("s = t.get_shape()\nn = s.as_list()[1] + s[1].value", "s = t.shape\nn = list(s)[1] + s[1]"),
        ("def f(u):\n    return u.get_shape().as_list()\n\n\nf(t)", "def f(u):\n    return list(u.shape)\n\n\nf(t)"),
        ("def f(u):\n    return u.get_shape().as_list()", "def f(u):\n    return list(u.shape)"),
    ],
)
def test_a_shape_is_written_as_every_version_has_it(before: str, after: str) -> None:
    text, done = migrated(TENSOR + before, "TFM226")
    assert text == (TENSOR + after).rstrip("\n")
    assert done
    assert set(done) == {"rewrite"}


@pytest.mark.parametrize(
    "lines",
    [
        "n = np.zeros((2, 3)).shape[1]",
        "n = K.int_shape(t)[1]",
        "n = t.shape[1]",
        "class Grid:\n    def get_shape(self):\n        return self\n    def as_list(self):\n        return []\n\n\n"
        "n = Grid().get_shape().as_list()",
        "n = {'a': 1}['a'].value",
        "class Grid:\n    shape = [1]\n\n\nn = Grid().shape[0].value",
    ],
)
def test_other_shapes_stay(lines: str) -> None:
    assert migrated(TENSOR + lines, "TFM226") == (TENSOR + lines, [])
