"""train_on_batch() of models with BatchNormalization: Keras 3 gives each replica the whole batch."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated

PROGRAM = """\
from tensorflow.keras.layers import BatchNormalization, Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model

model = Sequential([Dense(8, input_shape=(4,)), {layer}, Dense(1)])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "hinge")
for x, y in batches:
    parallel.{training}
    parallel.{training}
"""


def test_it_is_told_once() -> None:
    file = check_migrated(PROGRAM.format(layer="BatchNormalization()", training="train_on_batch(x, y)"))
    assert actions(file, "TFM432") == ["warn"]


@pytest.mark.parametrize(
    ("layer", "training"),
    [
        ("Dense(8)", "train_on_batch(x, y)"),
        ("BatchNormalization()", "fit(x, y)"),
        ("BatchNormalization()", "test_on_batch(x, y)"),
    ],
)
def test_what_does_not_depend_on_it_is_not_told(layer: str, training: str) -> None:
    text = PROGRAM.format(layer=layer, training=training)
    if layer == "Dense(8)":
        text = text.replace("BatchNormalization, ", "")
    assert actions(check_migrated(text), "TFM432") == []
