"""Layers that list their weights: which lists go, and which are reported."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated

PROGRAM = """\
import numpy as np
from tensorflow.keras import backend as K
from tensorflow.keras.layers import Dense, Input, Layer
from tensorflow.keras.models import Model
from tensorflow.keras.utils import multi_gpu_model


class Scaled(Layer):
    def build(self, input_shape):
        {lines}

    def call(self, x):
        return x * self.gamma


rows = Input((4,))
parallel = multi_gpu_model(Model(rows, Dense(1)(Scaled()(rows))), gpus=2)
parallel.compile("sgd", "hinge")
parallel.fit(batches)
"""


@pytest.mark.parametrize(
    ("lines", "new"),
    [
        (
            "self.gamma = K.variable(np.ones(4)); self.trainable_weights = [self.gamma]",
            "add_variable(self, np.ones(4))",
        ),
        (
            "self.gamma = K.variable(value=np.ones(4), name='g')\n        self.trainable_weights = (self.gamma,)",
            "add_variable(self, np.ones(4), name='g')",
        ),
        (
            "self.trainable_weights = []\n        self.gamma = self.add_weight(shape=(4,))\n"
            "        self.trainable_weights += [self.gamma]",
            "self.add_weight(shape=(4,))",
        ),
        (
            "self.gamma = self.add_weight(shape=(4,))\n        self.mean = self.add_weight((4,), trainable=False)\n"
            "        self.trainable_weights = [self.gamma]",
            "self.add_weight(shape=(4,))",
        ),
    ],
)
def test_a_list_goes_and_its_variables_are_weights_of_the_layer(lines: str, new: str) -> None:
    file = check_migrated(PROGRAM.format(lines=lines))
    assert f"self.gamma = {new}" in file.after
    assert "self.trainable_weights" not in file.after
    assert set(actions(file, "TFM265")) == {"rewrite"}


@pytest.mark.parametrize(
    "lines",
    [
        "self.gamma = K.variable(1.0); self.beta = K.variable(2.0); self.trainable_weights = [self.gamma]",
        "self.gamma = K.ones((4,)); self.trainable_weights = [self.gamma]",
        "self.gamma = K.variable(np.ones(4), dtype='float64'); self.trainable_weights = [self.gamma]",
        "self.gamma = K.variable(np.ones(4)); self.trainable_weights = self.all_of_them()",
    ],
)
def test_what_is_made_otherwise_is_reported(lines: str) -> None:
    file = check_migrated(PROGRAM.format(lines=lines))
    assert "self.trainable_weights = " in file.after
    assert "add_variable" not in file.after
    assert set(actions(file, "TFM265")) == {"warn"}


@pytest.mark.parametrize(
    "listed",
    [
        "self.dense.trainable_weights + self.wide.trainable_weights",
        "self.dense.trainable_variables + self.wide.trainable_weights + [self.gamma]",
    ],
)
def test_the_weights_of_its_layers_are_found_by_keras(listed: str) -> None:
    made = "self.dense = Dense(4); self.dense.build(input_shape); self.wide = Dense(4)\n        "
    made += "self.gamma = self.add_weight(shape=(4,))\n        " if "gamma" in listed else ""
    file = check_migrated(PROGRAM.format(lines=f"{made}self.trainable_weights = {listed}"))
    assert "self.trainable_weights" not in file.after
    assert set(actions(file, "TFM265")) == {"rewrite"}


def test_a_layer_that_is_not_listed_would_be_trained() -> None:
    lines = "self.dense = Dense(4); self.held = Dense(4)\n        "
    file = check_migrated(PROGRAM.format(lines=f"{lines}self.trainable_weights = self.dense.trainable_weights"))
    assert set(actions(file, "TFM265")) == {"warn"}


def test_a_class_that_is_no_layer_is_left_alone() -> None:
    text = PROGRAM.format(lines="self.gamma = self.add_weight(shape=(4,))")
    text += "\n\nclass Agent:\n    def __init__(self):\n        self.trainable_weights = []\n"
    assert actions(check_migrated(text), "TFM265") == []


def test_a_layer_of_a_private_module_is_one_too() -> None:
    lines = "self.gamma = self.add_weight(shape=(4,))\n        self.trainable_weights = [self.gamma]"
    text = PROGRAM.format(lines=lines).replace("tensorflow.keras", "keras").replace("Input, Layer", "Input")
    text = "from keras.engine.topology import Layer\n" + text
    assert actions(check_migrated(text), "TFM265") == ["rewrite"]
