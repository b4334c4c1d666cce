"""Initializers whose range standalone Keras took from the shape otherwise (TFM311)."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated

PROGRAM = """\
from {keras} import initializers
from {keras}.layers import Dense, Input, Layer
from {keras}.models import Model
from {keras}.utils import multi_gpu_model


class Scaled(Layer):
    def __init__(self, size=(3, 3), kind="he_normal", **kwargs):
        self.size = size
        self.init = initializers.get("glorot_uniform")
        self.kind = initializers.get(kind)
        self.flat = initializers.get("zeros")
        super(Scaled, self).__init__(**kwargs)

    def build(self, input_shape):
        self.w_shape = self.size + (1, 2, 3, 4)
        self.w = {call}
        super(Scaled, self).build(input_shape)


x = Input((4,))
model = Model(x, Dense(2{bias})(Scaled()(x)))
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
"""
PLAIN = "self.add_weight(name='w', shape=(4, 2), initializer='glorot_uniform')"


def told(call: str = PLAIN, keras: str = "keras", bias: str = "") -> list[str]:
    return actions(check_migrated(PROGRAM.format(call=call, keras=keras, bias=bias)), "TFM311")


@pytest.mark.parametrize(
    "call",
    [
        "self.add_weight(name='w', shape=(input_shape[-1],), initializer='glorot_uniform')",
        "self.add_weight((input_shape[-1],), initializer=self.init, name='w')",
        "self.add_weight(shape=[4], initializer=self.kind, name='w')",
        "self.add_weight(shape=[4], initializer=initializers.VarianceScaling(), name='w')",
        "self.add_weight(shape=(1, 2, 3, 4, 5, 6), initializer='he_uniform', name='w')",
        "self.add_weight(shape=self.w_shape, initializer=self.init, name='w')",
    ],
)
def test_a_vector_and_what_has_many_dimensions_are_reported(call: str) -> None:
    assert told(call) == ["warn"]
    assert told(call, keras="tensorflow.keras") == []


@pytest.mark.parametrize(
    "call",
    [
        PLAIN,
        "self.add_weight(shape=(4,), initializer='zeros', name='w')",
        "self.add_weight(shape=(4,), initializer='uniform', name='w')",
        "self.add_weight(shape=(4,), initializer=self.flat, name='w')",
        "self.add_weight(shape=(4,), initializer=initializers.RandomUniform(-1, 1), name='w')",
        "self.add_weight(shape=self.size + (4, 4), initializer=self.init, name='w')",
        "self.add_weight(shape=shape_of(input_shape), initializer=self.init, name='w')",
    ],
)
def test_kernels_and_other_initializers_are_not(call: str) -> None:
    assert told(call) == []


@pytest.mark.parametrize(
    ("bias", "done"),
    [
        (", bias_initializer='he_normal'", ["warn"]),
        (", bias_initializer='zeros'", []),
        (", kernel_initializer='he_normal'", []),
    ],
)
def test_a_bias_is_a_vector(bias: str, done: list[str]) -> None:
    assert told(bias=bias) == done
    assert told(bias=bias, keras="tensorflow.keras") == []
