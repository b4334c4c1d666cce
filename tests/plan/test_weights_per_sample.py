"""One weight for each sample of a model that gives images or sequences is reported; any other weight is not."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated

PROGRAM = """\
from keras import layers
from keras.layers import LSTM, Activation, Conv2D, Dense, Flatten, Input, TimeDistributed
from keras.models import Model, Sequential
from keras.utils import multi_gpu_model

{model}
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile({compile})
parallel_model.{train}
"""
IMAGES = "model = Sequential([Conv2D(1, 3, input_shape=(8, 8, 3))])"
SEQUENTIAL = "model = Sequential()\nmodel.add(Conv2D(1, 3, input_shape=(8, 8, 3)))"
PLAIN = "'sgd', 'mse'"
FIT = "fit(x, y, sample_weight=w, batch_size=8)"


@pytest.mark.parametrize(
    "model",
    [
        IMAGES,
        SEQUENTIAL,
        f"{SEQUENTIAL}\nmodel.add(Activation('sigmoid'))",
        "model = Sequential([LSTM(4, return_sequences=True, input_shape=(5, 4)), Dense(1)])",
        "model = Sequential([TimeDistributed(Dense(1), input_shape=(5, 4))])",
        "i = Input((8, 8, 3))\nx = layers.Conv2D(1, 3)(i)\nmodel = Model(inputs=i, outputs=Activation('relu')(x))",
        "i = Input((8, 8, 3))\nx = Conv2D(2, 3)(i)\nx = Conv2D(1, 3)(x)\nmodel = Model(i, x)",
    ],
)
@pytest.mark.parametrize("train", [FIT, "train_on_batch(x, y, w)"])
def test_it_is_told(model: str, train: str) -> None:
    file = check_migrated(PROGRAM.format(model=model, compile=PLAIN, train=train))
    assert actions(file, "TFM447") == ["warn"]


@pytest.mark.parametrize(
    ("model", "settings", "train"),
    [
        (IMAGES, PLAIN, "fit(x, y, batch_size=8)"),
        (IMAGES, PLAIN, "fit(x, y, sample_weight=None, batch_size=8)"),
        (IMAGES, PLAIN, "fit(x, y, sample_weight=w[:, None, None], batch_size=8)"),
        (IMAGES, PLAIN, "fit(x, y, sample_weight=w.reshape(-1, 1, 1), batch_size=8)"),
        (IMAGES, f"{PLAIN}, sample_weight_mode='temporal'", FIT),
        (IMAGES, "'sgd', my_loss", FIT),
        (f"{SEQUENTIAL}\nmodel.add(Flatten())", PLAIN, FIT),
        (f"{SEQUENTIAL}\nmodel.add(Flatten())\nmodel.add(Dense(1))", PLAIN, FIT),
        (f"{SEQUENTIAL}\nmodel.add(last)", PLAIN, FIT),
        ("model = Sequential([Dense(1, input_shape=(4,))])", PLAIN, FIT),
        ("model = Sequential([LSTM(4, input_shape=(5, 4)), Dense(1)])", PLAIN, FIT),
        ("i = Input((4,))\nmodel = Model(i, Dense(1)(i))", PLAIN, FIT),
        ("i = Input((8, 8, 3))\nx = Conv2D(2, 3)(i)\nx = Flatten()(x)\nmodel = Model(i, Dense(1)(x))", PLAIN, FIT),
        ("i = Input((8, 8, 3))\nmodel = Model(i, [Conv2D(1, 3)(i), Dense(1)(i)])", PLAIN, FIT),
    ],
)
def test_nothing_is_said(model: str, settings: str, train: str) -> None:
    file = check_migrated(PROGRAM.format(model=model, compile=settings, train=train))
    assert not actions(file, "TFM447")
