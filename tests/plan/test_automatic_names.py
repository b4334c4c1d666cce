"""Names of layers that Keras gives itself."""

from __future__ import annotations

import pytest

from tests.kit import actions, migrate

HEAD = """\
from {keras}.layers import BatchNormalization, Conv2D, Flatten, LeakyReLU
from {keras}.models import Sequential
from {keras}.utils import multi_gpu_model

model = Sequential([{layers}, Flatten()])
multi_gpu_model(model, gpus=2).compile("sgd", "mse")
"""
FIRST = "Conv2D(4, 3, input_shape=(8, 8, 3)), BatchNormalization(), LeakyReLU()"


@pytest.mark.parametrize(
    ("layers", "told"),
    [
        (f"{FIRST}, Conv2D(4, 3, name='conv2d')", 1),
        (f"{FIRST}, BatchNormalization(name='batch_normalization')", 1),
        (f"{FIRST}, LeakyReLU(name='leaky_re_lu')", 1),
        (f"{FIRST}, Conv2D(4, 3, name='conv2d_1')", 0),
        (f"{FIRST}, Conv2D(4, 3, name='first')", 0),
        (f"{FIRST}, Conv2D(4, 3, name=name)", 0),
        ("Conv2D(4, 3, **settings), Conv2D(4, 3, name='conv2d')", 0),
        ("Conv2D(4, 3, name='a', input_shape=(8, 8, 3)), Conv2D(4, 3, name='conv2d')", 0),
    ],
)
def test_a_name_that_the_first_unnamed_layer_gets_is_reported(layers: str, told: int) -> None:
    assert actions(migrate(HEAD.format(keras="keras", layers=layers)), "TFM281") == ["warn"] * told


TWO = """\
from keras.layers import Concatenate, Dense, Input
from keras.models import Model, Sequential
from keras.utils import multi_gpu_model


{code}
multi_gpu_model(model, gpus=2).compile("sgd", "mse")
"""
OTHER = "def other():\n    rows = Input((4,))\n    return Model(rows, Dense(2)(rows))\n\n\n"
BUILD = "def build():\n    rows = Input((4,))\n    return Model(rows, Dense(1, name='dense')({}))\n\n\nmodel = build()"
PART = "def part(x):\n    return Dense(2)(x)\n\n\n"


@pytest.mark.parametrize(
    "code",
    [
        OTHER + BUILD.format("rows"),
        "other = Sequential([Dense(2, input_shape=(4,))])\nmodel = Sequential([Dense(1, name='dense')])",
        "other = Sequential()\nother.add(Dense(2))\nmodel = Sequential()\nmodel.add(Dense(1, name='dense'))",
        f"{OTHER}{BUILD.format('rows')}\nprint(other().predict(x))",
    ],
)
def test_layers_of_different_models_do_not_meet(code: str) -> None:
    assert actions(migrate(TWO.format(code=code)), "TFM281") == []


@pytest.mark.parametrize(
    "code",
    [
        PART + BUILD.format("part(rows)"),
        "shared = Dense(2)\n" + BUILD.format("shared(rows)"),
        "base = Sequential([Dense(2)])\nmodel = Model(base.input, Dense(1, name='dense')(base.output))",
        "model = Sequential()\nif deep:\n    model.add(Dense(2))\nmodel.add(Dense(1, name='dense'))",
        f"{OTHER}{BUILD.format('Concatenate()([rows, Dense(3)(rows)])')}",
        "layers = read([Dense(2), Dense(1, name='dense')])\nmodel = make(layers)",
    ],
)
def test_layers_that_may_be_in_one_model_may_meet(code: str) -> None:
    assert actions(migrate(TWO.format(code=code)), "TFM281") == ["warn"]


def test_tf_keras_always_began_so() -> None:
    file = migrate(HEAD.format(keras="tensorflow.keras", layers=f"{FIRST}, Conv2D(4, 3, name='conv2d')"))
    assert actions(file, "TFM281") == []
