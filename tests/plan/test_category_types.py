"""to_categorical() with a dtype (TFM256)."""

from __future__ import annotations

import pytest

from tests.plan.whole import migrated


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("y = K.to_categorical(y, 3, dtype='uint8')", "y = K.to_categorical(y, 3).astype('uint8')"),
        ("y = K.to_categorical(y, 3, 'uint8')[0]", "y = K.to_categorical(y, 3).astype('uint8')[0]"),
        ("y = K.to_categorical(dtype=kind, y=y)", "y = K.to_categorical(y=y).astype(kind)"),
    ],
)
def test_the_type_stands_behind_the_call(line: str, after: str) -> None:
    head = "from keras import utils as K\n"
    assert migrated(head + line, "TFM256")[0].splitlines()[-1] == after


def test_it_is_the_same_by_its_older_name() -> None:
    after, done = migrated("from keras.utils import np_utils\ny = np_utils.to_categorical(y, 3, dtype='f')", "TFM256")
    assert after.splitlines()[-1].endswith("to_categorical(y, 3).astype('f')")
    assert done == ["rewrite"]
    assert migrated("y = keras.utils.to_categorical(y, 3, dtype='f')", "TFM501")[1] == []


@pytest.mark.parametrize("call", ["utils.to_categorical(y, 3)", "utils.to_categorical(*both)", "own(y, 3, 'f')"])
def test_other_calls_stay(call: str) -> None:
    line = f"from keras import utils\ny = {call}"
    assert migrated(line, "TFM256")[1] == []
