"""`input_length` of an Embedding that begins a Sequential."""

from __future__ import annotations

import pytest

from tests import forks
from tests.kit import actions, check_migrated, migrate

HEAD = """\
from keras.layers import Dense, Embedding, Flatten, Input
from keras.models import Model, Sequential
from keras.utils import multi_gpu_model

SIZE = 4
{code}
model.compile("sgd", "mse")
multi_gpu_model(model, gpus=2).compile("sgd", "mse")
"""


@pytest.mark.parametrize(
    ("code", "after"),
    [
        ("model = Sequential()\nmodel.add(Embedding(9, 3, input_length={0}))", "Embedding(9, 3, input_shape=({0},)"),
        ("model = Sequential([Embedding(9, 3, input_length={0}), Flatten()])", "Embedding(9, 3, input_shape=({0},)"),
    ],
)
@pytest.mark.parametrize("length", ["4", "SIZE", "SIZE + 1"])
def test_the_length_becomes_the_shape_of_its_input(code: str, after: str, length: str) -> None:
    file = check_migrated(HEAD.format(code=code.format(length)))
    assert after.format(length) in file.after
    assert actions(file, "TFM279") == ["rewrite"]


@pytest.mark.parametrize(
    "code",
    [
        "model = Sequential([Embedding(9, 3), Flatten()])",
        "model = Sequential([Embedding(9, 3, input_length=None)])",
        "model = Sequential([Embedding(9, 3, input_length=4, input_shape=(4,))])",
        "model = Sequential([Dense(9, input_shape=(4,)), Embedding(9, 3, input_length=4)])",
        "words = Input((4,))\nmodel = Model(words, Embedding(9, 3, input_length=4)(words))",
        "model = Sequential([Embedding(9, 3, **more)])",
    ],
)
def test_other_layers_stay(code: str) -> None:
    assert actions(migrate(HEAD.format(code=code)), "TFM279") == []


BUILT = """\
import numpy as np
from tensorflow.keras.layers import Dense, Embedding, Flatten
from tensorflow.keras.models import Sequential

model = Sequential([Embedding(9, 3, {length}), Flatten(), Dense(1)])
print(model.output_shape, model.count_params())
model.layers[0].set_weights([np.ones((9, 3))])
"""


@pytest.mark.runs_tensorflow
def test_the_model_is_built(python: forks.Python) -> None:
    was = python(2, BUILT.format(length="input_length=4")).stdout
    assert was.strip() == "(None, 1) 40"
    for keras in (3, 2):
        assert python(keras, BUILT.format(length="input_shape=(4,)")).stdout == was
