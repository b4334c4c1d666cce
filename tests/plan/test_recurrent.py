"""Defaults of recurrent layers: the gates and the reset of the version that a program is written for."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated
from tfmigrate.settings import Settings

PROGRAM = """\
from {layers} import GRU, LSTM, ConvLSTM2D
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
layer = {layer}
"""
GATES = "recurrent_activation=keras_2_hard_sigmoid"


@pytest.mark.parametrize(
    ("layers", "version", "layer", "after"),
    [
        ("keras.layers", "keras==2.3.1", "LSTM(4)", "LSTM(4)"),
        ("keras.layers", "keras==2.2.4", "LSTM(4)", f"LSTM(4, {GATES})"),
        (
            "keras.layers",
            "keras==2.2.4",
            "LSTM(4, recurrent_activation='tanh')",
            "LSTM(4, recurrent_activation='tanh')",
        ),
        ("keras.layers", "keras==2.3.1", "ConvLSTM2D(4, 3)", f"ConvLSTM2D(4, 3, {GATES})"),
        ("keras.layers", "keras==2.2.4", "GRU(4)", f"GRU(4, reset_after=False, {GATES})"),
        ("tensorflow.keras.layers", "tensorflow==1.15", "GRU(4)", f"GRU(4, reset_after=False, {GATES})"),
        ("tensorflow.keras.layers", "tensorflow==2.2", "GRU(4)", "GRU(4)"),
        # The private modules have the layers of TensorFlow 1, in TensorFlow 2 too.
        ("keras.layers.recurrent", "keras==2.2.4, tensorflow==2.3", "GRU(4)", f"GRU(4, reset_after=False, {GATES})"),
        ("tensorflow.python.keras.layers", "tensorflow==2.3", "GRU(4)", f"GRU(4, reset_after=False, {GATES})"),
    ],
)
def test_a_layer_keeps_the_defaults_of_its_version(layers: str, version: str, layer: str, after: str) -> None:
    text = PROGRAM.format(layers=layers, layer=layer)
    file = check_migrated(text, Settings(from_version=version))
    assert f"layer = {after}\n" in file.after
    assert file.after.count("def keras_2_hard_sigmoid(x):") == (GATES in after)
