"""Layers that are given their weights (TFM255)."""

from __future__ import annotations

import pytest

from tests import forks
from tests.kit import actions, check_migrated, migrate

PROGRAM = """\
import tensorflow as tf
from keras.layers import BatchNormalization, Conv2D, Dense, Embedding, LSTM
from keras.models import Sequential
from keras.utils import multi_gpu_model

both = [kernel, bias]
model = Sequential()
model.add({layer})
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
"""
C = "tf.keras.initializers.Constant"


@pytest.mark.parametrize(
    ("layer", "after"),
    [
        ("Dense(2, weights=[a, b])", f"Dense(2, kernel_initializer={C}(a), bias_initializer={C}(b))"),
        ("Dense(2, 'relu', weights=both)",
         f"Dense(2, 'relu', kernel_initializer={C}(both[0]), bias_initializer={C}(both[1]))"),
        ("Dense(2, weights=(a,), use_bias=False)", f"Dense(2, use_bias=False, kernel_initializer={C}(a))"),
        ("Conv2D(4, 3, weights=[a, 1 + b], use_bias=True)",
         f"Conv2D(4, 3, use_bias=True, kernel_initializer={C}(a), bias_initializer={C}(1 + b))"),
        ("Dense(2, kernel_initializer='zeros', weights=[a, b])",
         f"Dense(2, kernel_initializer={C}(a), bias_initializer={C}(b))"),
        ("BatchNormalization(center=False, scale=False, weights=[m, v])",
         f"BatchNormalization(center=False, scale=False, moving_mean_initializer={C}(m), "
         f"moving_variance_initializer={C}(v))"),
        ("Dense(2, weights=None)", "Dense(2)"),
    ],
)  # fmt: skip
def test_initializers_give_a_layer_its_weights(layer: str, after: str) -> None:
    file = check_migrated(PROGRAM.format(layer=layer))
    assert "".join(f"model.add({after})".split()) in "".join(file.after.replace(",\n    )", "\n    )").split())
    assert actions(file, "TFM255") == ["rewrite"]


@pytest.mark.parametrize(
    "layer",
    [
        "Dense(2, weights=[a])",
        "Dense(2, weights=[*both])",
        "Dense(2, weights=other.get_weights())",
        "Dense(2, weights=unknown)",
        "Dense(2, use_bias=biased, weights=[a, b])",
        "Dense(2, 'relu', True, 'zeros', weights=[a, b])",
        "Dense(2, weights=[a, b], **more)",
        "LSTM(2, weights=[a, b, c])",
        "Embedding(9, 2, weights=[a])",
    ],
)
def test_what_is_not_sure_stays(layer: str) -> None:
    file = migrate(PROGRAM.format(layer=layer))
    assert actions(file, "TFM255") == []
    assert "weights=" in file.after


RUN = """
import numpy as np
import tensorflow as tf
from tensorflow.keras.layers import BatchNormalization, Conv2D, Dense

constant = tf.keras.initializers.Constant
draw = np.random.RandomState(0).rand
for layer, values, shape in (
    (Dense, {"kernel": draw(3, 2), "bias": draw(2)}, (None, 3)),
    (lambda **named: Conv2D(2, 3, **named), {"kernel": draw(3, 3, 1, 2), "bias": draw(2)}, (None, 8, 8, 1)),
    (BatchNormalization, {"gamma": draw(3), "beta": draw(3), "moving_mean": draw(3), "moving_variance": draw(3)},
     (None, 3)),
):
    named = {name + "_initializer": constant(value) for name, value in values.items()}
    made = layer(2, **named) if layer is Dense else layer(**named)
    made.build(shape)
    print(all(np.allclose(a, b) for a, b in zip(made.get_weights(), values.values())), len(made.get_weights()))
"""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", [3, 2])
def test_the_layers_have_the_weights_in_their_order(keras: int, python: forks.Python) -> None:
    done = python(keras, RUN)
    assert done.stdout.split("\n") == ["True 2", "True 2", "True 4", ""], done.stderr
