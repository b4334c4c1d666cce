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


@pytest.mark.parametrize("line", ["print(~x)", "z = images[x]", "np.save('x.npy', x)"])
def test_one_that_is_used_otherwise_is_converted_where_it_is_given(line: str) -> None:
    file = check_migrated(PROGRAM.format(made=f"x = np.zeros((32, 4), dtype=bool)\n{line}", given="x, y"))
    assert "x = np.zeros((32, 4), dtype=bool)\n" in file.after
    assert '((x.astype("float32"), y))' in file.after
    assert actions(file, "TFM431") == ["rewrite"]


@pytest.mark.parametrize(
    ("made", "given", "converted"),
    [
        ("z = y > 0.5", "x, z", '(x, z.astype("float32"))'),
        ("z = y\nz = z == 'dog'", "x, z", '(x, z.astype("float32"))'),
        ("z = y", "x, z != 3", '(x, (z != 3).astype("float32"))'),
        ("z = ~(y < 3)", "x, z[:32]", '(x, z[:32].astype("float32"))'),
        ("z = np.eye(3, dtype=bool)[y]", "x, z", '(x, z.astype("float32"))'),
        ("z = np.expand_dims(y.astype(bool), -1)", "x, z", '(x, z.astype("float32"))'),
        ("z = (y > 1) & np.isin(y, [2, 3])", "x, z.reshape(-1, 1)", '(x, z.reshape(-1, 1).astype("float32"))'),
        ("z = np.array(y == 2)", "x, z.T", '(x, z.T.astype("float32"))'),
        ("def masks(y):\n    return y, y == 2\ny, z = masks(y)", "x, z", '(x, z.astype("float32"))'),
    ],
)
def test_one_that_is_the_answer_to_a_question_is_converted(made: str, given: str, converted: str) -> None:
    file = check_migrated(PROGRAM.format(made=made, given=given))
    assert f"from_tensor_slices({converted})" in file.after
    assert made in file.after
    assert actions(file, "TFM431") == ["rewrite"]


BATCHES = """
import numpy as np
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import Sequence, multi_gpu_model

class Batches(Sequence):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        x = np.zeros((8, 4))
        y = np.zeros((8, 1), dtype=bool)
        y[0] = True
        {end}

def batches():
    while True:
        y = np.load("y.npy")
        yield np.load("x.npy"), y > 0.5

model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "hinge")
parallel.fit_generator({given})
"""


def test_those_in_batches_are_converted_too() -> None:
    file = check_migrated(BATCHES.format(end="return x, y", given="Batches()"))
    assert 'y = np.zeros((8, 1), dtype="float32")\n' in file.after
    file = check_migrated(BATCHES.format(end="return x, ~y", given="Batches()"))
    assert 'return x, (~y).astype("float32")\n' in file.after
    file = check_migrated(BATCHES.format(end="return x, y", given="batches(), 4"))
    assert 'yield np.load("x.npy"), (y > 0.5).astype("float32")\n' in file.after
    assert "y = np.zeros((8, 1), dtype=bool)\n" in file.after


@pytest.mark.parametrize(
    "made",
    [
        "z = shuffled(y > 0.5)",
        "z = (y > 0.5) * 1",
        "z = (y > 0.5).astype('float32')",
        "z = np.array(y > 0.5, dtype='float32')",
        "z = np.where(y > 0.5, y, 0)",
        "z = y > 0.5 if kind else y",
        "z = -(y > 0.5).astype(int)",
        "z = np.eye(3)[y]",
        "z = y in (1, 2)",
        "z = not y",
        "z = (y > 0.5).sum(axis=1)",
        "z = y[y > 0.5]",
    ],
)
def test_one_that_may_be_anything_else_stays(made: str) -> None:
    file = check_migrated(PROGRAM.format(made=made, given="x, z"))
    assert f"{made}\n" in file.after
    assert "from_tensor_slices((x, z))" in file.after
    assert actions(file, "TFM431") == []


@pytest.mark.parametrize("line", ["x |= y", "x = shuffled(x)"])
def test_one_that_something_else_becomes_of_stays(line: str) -> None:
    file = check_migrated(PROGRAM.format(made=f"x = np.zeros((32, 4), dtype=bool)\n{line}", given="x, y"))
    assert "x = np.zeros((32, 4), dtype=bool)\n" in file.after
    assert actions(file, "TFM431") == []


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


@pytest.mark.parametrize(
    "made",
    ["x = z[:16]", "x = z", "(x, v) = z[:16], z[16:]\nprint(~v)", "z = z[order]\nx = z[:16]", "w = z[n]\nx = w[:16]"],
)
def test_rows_of_one_are_converted(made: str) -> None:
    file = check_migrated(PROGRAM.format(made=f"z = np.zeros((32, 4), dtype=bool)\nz[0] = 1\n{made}", given="x, y"))
    assert 'from_tensor_slices((x.astype("float32"), y))' in file.after
    assert actions(file, "TFM431") == ["rewrite"]


@pytest.mark.parametrize(
    "made",
    [
        "x = np.zeros((32, 4), dtype=bool)\nx = x.astype('float32')",
        "x = np.zeros((32, 4), dtype=bool)\nx = x * 2",
        "z = np.zeros((32, 4), dtype=bool)\nx = images[z]",
        "z = np.zeros((32, 4), dtype=bool)\nx, v = split(z)",
        "x = np.zeros((32, 4), dtype=bool)\nfor x in parts:\n    pass",
    ],
)
def test_what_becomes_another_array_stays(made: str) -> None:
    file = check_migrated(PROGRAM.format(made=made, given="x, y"))
    assert made in file.after
    assert actions(file, "TFM431") == []
