from __future__ import annotations

import pytest

from tests.kit import migrate
from tfmigrate.understand.stars import brought


@pytest.mark.parametrize(
    ("source", "name", "full"),
    [
        ("keras.layers", "Dense", "keras.layers.Dense"),
        ("keras.layers.core", "Dropout", "keras.layers.core.Dropout"),
        ("tensorflow.keras.optimizers", "Adam", "tensorflow.keras.optimizers.Adam"),
        ("keras", "layers", "keras.layers"),
        ("keras.layers", "SqueezeExcite", None),
        ("keras.datasets", "layers", None),
        ("numpy", "Dense", None),
        ("keras.layers", "K", "keras.backend"),
        ("keras.callbacks", "np", "numpy"),
        ("tensorflow.keras.layers", "K", None),
        ("keras.losses", "mse", "keras.losses.mse"),
    ],
)
def test_what_a_star_import_brings(source: str, name: str, full: str | None) -> None:
    assert brought(source, name) == full


def test_layers_and_optimizers_from_star_imports_are_followed() -> None:
    before = """\
from keras.layers import *
from keras.models import *
from keras.optimizers import *
from keras.utils import multi_gpu_model


def network(depth):
    image = Input((8, 8, 1))
    filters = Conv2D(4, 3)
    x = filters(image)
    for _ in range(depth):
        widen = Dense(4)
        x = widen(x)
    return Model(image, Flatten()(x))


network = network(3)
parallel = multi_gpu_model(network, gpus=2)
parallel.compile(loss="mse", optimizer=Adam(lr=0.01))
"""
    file = migrate(before)
    assert file.status == "migrated"
    assert "with strategy.scope():\n    network = network(3)\n" in file.after
    assert "optimizer=Adam(learning_rate=0.01)" in file.after


def test_a_layer_made_apart_from_the_model_stands_in_the_scope_too() -> None:
    before = """\
from tensorflow.keras.layers import *
from tensorflow.keras.models import Model
from tensorflow.keras.utils import multi_gpu_model
from elsewhere import Gate

GATED = True
words = Input((5,))
embedding = Embedding(10, 4)
x = embedding(words)
if GATED:
    gate = Gate(3)
    x = gate(x)
model = Model(words, x)
model = multi_gpu_model(model, gpus=2)
model.compile("sgd", "mse")
"""
    file = migrate(before)
    scoped = file.after.split("with strategy.scope():\n")[1]
    layer = "Embedding(10, 4)"
    assert f"    embedding = {layer}\n    x = embedding(words)\n    if GATED:\n        gate = Gate(3)\n" in scoped


def test_a_name_that_the_module_binds_itself_comes_first() -> None:
    before = """\
from keras.optimizers import *
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


def Adam(lr):
    return "adam"


model = multi_gpu_model(Sequential([Dense(1, input_shape=(2,))]), gpus=2)
model.compile(loss="mse", optimizer=Adam(lr=0.01))
"""
    file = migrate(before)
    assert "optimizer=Adam(lr=0.01)" in file.after
