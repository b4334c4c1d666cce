"""Layers that are frozen in a program with BatchNormalization (TFM445)."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated
from tfmigrate.settings import Settings

PROGRAM = """\
from {keras}.layers import BatchNormalization, Dense
from {keras}.models import Sequential
from {keras}.utils import multi_gpu_model

model = Sequential([Dense(8, input_shape=(4,)), {layer}, Dense(1)])
model.layers[1].trainable = {state}
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
parallel.fit(batches)
"""


@pytest.mark.parametrize(
    ("keras", "written_for", "layer", "state", "told"),
    [
        ("keras", None, "BatchNormalization()", "False", ["warn"]),
        ("tensorflow.keras", "tensorflow==1.14", "BatchNormalization()", "False", ["warn"]),
        ("tensorflow.keras", "tensorflow==2.1", "BatchNormalization()", "False", []),
        ("tensorflow.keras", None, "BatchNormalization()", "False", []),
        ("keras", None, "BatchNormalization()", "True", []),
        ("keras", None, "Dense(8)", "False", []),
    ],
)
def test_it_is_reported_where_the_layer_had_the_old_meaning(
    keras: str, written_for: str | None, layer: str, state: str, told: list[str]
) -> None:
    text = PROGRAM.format(keras=keras, layer=layer, state=state)
    if layer == "Dense(8)":
        text = text.replace("BatchNormalization, ", "")
    assert actions(check_migrated(text, Settings(from_version=written_for)), "TFM445") == told
