"""Iterators that are asked by a method (TFM231)."""

from __future__ import annotations

import pytest

from tests.plan.whole import migrated

MAKER = "from keras.preprocessing.image import ImageDataGenerator\n"
MOVED = "from tensorflow.keras.preprocessing.image import ImageDataGenerator\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (MAKER + "a = ImageDataGenerator().flow(x, y).next()", MOVED + "a = next(ImageDataGenerator().flow(x, y))"),
        (MAKER + "g = ImageDataGenerator()\nf = g.flow_from_directory('d')\na = f.next()[0]",
         MOVED + "g = ImageDataGenerator()\nf = g.flow_from_directory('d')\na = next(f)[0]"),
        ("def rows():\n    yield 1\n\n\na = rows().next()", "def rows():\n    yield 1\n\n\na = next(rows())"),
    ],
)  # fmt: skip
def test_the_builtin_asks(before: str, after: str) -> None:
    assert migrated(before, "TFM231") == (after, ["rewrite"])


@pytest.mark.parametrize(
    "lines",
    [
        "a = cursor.next()",
        "def f(rows):\n    return rows.next()",
        "a = [1].next(2)",
        "import csv\na = csv.reader(f).next()",
    ],
)
def test_other_methods_stay(lines: str) -> None:
    assert migrated(lines, "TFM231") == (lines, [])
