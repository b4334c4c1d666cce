"""Boolean arrays that a model is trained on: which are made of floats, which are told, and which are left alone."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated

PROGRAM = """\
import numpy as np
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

{made}
model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "hinge")
parallel.fit({given}, batch_size=8)
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("np.zeros((32, 4), dtype=np.bool_)", "np.zeros((32, 4), dtype=np.float32)"),
        ("np.zeros((32, 4), bool)", 'np.zeros((32, 4), "float32")'),
        ('np.ones((32, 4), dtype="bool")', 'np.ones((32, 4), dtype="float32")'),
        ("np.full((32, 4), 0, dtype=bool)", 'np.full((32, 4), 0, dtype="float32")'),
        ("np.empty((32, 4), dtype=np.bool8)", "np.empty((32, 4), dtype=np.float32)"),
    ],
)
@pytest.mark.parametrize("given", ["x, y", "y, x", "x[:16], y", "y, y, validation_data=(x, y)"])
def test_one_that_is_only_filled_is_made_of_floats(old: str, new: str, given: str) -> None:
    file = check_migrated(PROGRAM.format(made=f"x = {old}\nx[:, 0] = 1\nprint(len(x), x.shape)", given=given))
    assert f"x = {new}\n" in file.after
    assert actions(file, "TFM431") == ["rewrite"]


def test_one_that_also_goes_into_a_dataset_is_made_of_floats() -> None:
    made = "import tensorflow as tf\nx = np.zeros((32, 4), dtype=bool)\nd = tf.data.Dataset.from_tensor_slices((x, y))"
    file = check_migrated(PROGRAM.format(made=made, given="x, y"))
    assert actions(file, "TFM431") == ["rewrite"]


@pytest.mark.parametrize("line", ["print(~x)", "x |= y", "z = images[x]", "np.save('x.npy', x)", "x = shuffled(x)"])
def test_one_that_is_used_otherwise_is_told(line: str) -> None:
    file = check_migrated(PROGRAM.format(made=f"x = np.zeros((32, 4), dtype=bool)\n{line}", given="x, y"))
    assert "x = np.zeros((32, 4), dtype=bool)\n" in file.after
    assert actions(file, "TFM431") in (["warn"], [])


@pytest.mark.parametrize(
    "made",
    [
        "x = np.zeros((32, 4))",
        "x = np.zeros((32, 4), dtype=np.uint8)",
        "x = own.zeros((32, 4), dtype=bool)",
        "from own import bool\nx = np.zeros((32, 4), dtype=bool)",
        "x = np.ones((32, 4))\nmask = np.zeros((32, 4), dtype=bool)",
    ],
)
def test_any_other_array_stays(made: str) -> None:
    file = check_migrated(PROGRAM.format(made=made, given="x, y"))
    assert f"{made}\n" in file.after
    assert actions(file, "TFM431") == []
