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
        ("Conv2D(4, 3, name='a', input_shape=(8, 8, 3)), Conv2D(4, 3, name='conv2d')", 0),
    ],
)
def test_a_name_that_the_first_unnamed_layer_gets_is_reported(layers: str, told: int) -> None:
    assert actions(migrate(HEAD.format(keras="keras", layers=layers)), "TFM281") == ["warn"] * told


def test_tf_keras_always_began_so() -> None:
    file = migrate(HEAD.format(keras="tensorflow.keras", layers=f"{FIRST}, Conv2D(4, 3, name='conv2d')"))
    assert actions(file, "TFM281") == []
