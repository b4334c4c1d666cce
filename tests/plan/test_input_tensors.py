"""An input that is given a tensor with values, which Keras 3 refuses, is reported."""

from __future__ import annotations

import pytest

from tests.kit import actions, migrate

PROGRAM = """import tensorflow as tf
from keras import backend as K
from keras.layers import Dense, Input, InputLayer
from keras.models import Model
from keras.utils import multi_gpu_model

{code}
inputs = Input((4,))
model = Model(inputs, Dense(1)(inputs))
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
"""


@pytest.mark.parametrize(
    "code",
    [
        "x = Input(tensor=K.constant([[1.0]]))",
        "x = Input(tensor=K.variable([[1.0]]), name='x')",
        "rows = tf.constant([[1.0]])\nx = Input(tensor=rows)",
        "rows, targets = data.make_one_shot_iterator().get_next()\nx = Input(tensor=rows)",
        "rows, targets = tf.train.shuffle_batch(data, 8, 16, 8)\nx = Input(tensor=rows)",
        "x = InputLayer(input_tensor=K.constant([[1.0]]))",
        "def entry(values):\n    return Input(tensor=values)\n\n\nx = entry(tf.zeros((8, 4)))",
    ],
)
def test_an_input_with_values_is_told(code: str) -> None:
    assert actions(migrate(PROGRAM.format(code=code)), "TFM284") == ["warn"]


@pytest.mark.parametrize(
    "code",
    [
        "x = Input(tensor=None, shape=(4,))",
        "a = Input((4,))\nx = Input(tensor=a)",
        "a = Dense(2)(Input((4,)))\nx = Input(tensor=a)",
        "def entry(values=None):\n    return Input((4,)) if values is None else Input(tensor=values)\n\n\nentry()",
        "x = Input(tensor=read())",
        "x = entry(tensor=K.constant([[1.0]]))",
        "x = Input(shape=(4,), sparse=True)",
        "x = tf.constant([[1.0]])",
    ],
)
def test_nothing_is_said_of_other_inputs(code: str) -> None:
    assert actions(migrate(PROGRAM.format(code=code)), "TFM284") == []
