"""The template among the layers of the parallel model: one behind the inputs and the slices of each for each GPU."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, migrate

HEAD = """\
from keras.layers import Concatenate, Dense, Input
from keras.models import Model, Sequential
from keras.utils import multi_gpu_model

x, other = Input((4,)), Input((4,))
y = Dense(1)(x)
"""
TRAIN = """
parallel_model = multi_gpu_model(model, {gpus})
for i in range(2):
    {place}.layers[i].trainable = False
parallel_model.compile("sgd", "mse")
parallel_model.fit(batches)
"""
ONE = "model = Sequential([Dense(8, input_shape=(4,)), Dense(1)])"
TWO = "model = Model([x, other], Dense(1)(Concatenate()([x, other])))"


@pytest.mark.parametrize(
    ("model", "gpus", "place"),
    [
        (ONE, "2", "layers[3]"),
        (ONE, "gpus=4", "layers[5]"),
        (ONE, "[0, 2, 3]", "layers[4]"),
        (ONE, "2", "get_layer(index=3)"),
        ("model = Model(x, y)", "2", "layers[3]"),
        ("model = Model(inputs=[x], outputs=[y, Dense(2)(x)])", "2", "layers[3]"),
        (TWO, "2", "layers[6]"),
        (f"def net():\n    {ONE}\n    return model\n\n\nmodel = net()", "2", "layers[3]"),
    ],
)
def test_it_is_the_model_itself(model: str, gpus: str, place: str) -> None:
    file = check_migrated(HEAD + model + TRAIN.format(gpus=gpus, place=f"parallel_model.{place}"))
    assert "    model.layers[i].trainable = False\n" in file.after
    assert not actions(file, "TFM024")


@pytest.mark.parametrize(
    ("model", "gpus", "place"),
    [
        (ONE, "2", "layers[2]"),
        (ONE, "2", "layers[4]"),
        (ONE, "2", "layers[-1]"),
        (ONE, "2", "layers[True]"),
        (ONE, "2", "layers[number]"),
        (ONE, "4", "layers[3]"),
        (TWO, "2", "layers[3]"),
        ("model = Model(made_elsewhere, y)", "2", "layers[3]"),
        ("model = Model([x, *others], y)", "2", "layers[3]"),
        ("class Net(Model):\n    pass\n\n\nmodel = Net()", "2", "layers[3]"),
    ],
)
def test_another_layer_is_told(model: str, gpus: str, place: str) -> None:
    file = migrate(HEAD + model + TRAIN.format(gpus=gpus, place=f"parallel_model.{place}"))
    assert f"model.{place}.layers[i].trainable" in file.after
    assert "warn" in actions(file, "TFM024")


def test_a_layer_of_a_model_that_nothing_wraps_stays() -> None:
    program = (
        HEAD
        + ONE
        + TRAIN.format(gpus=2, place="single.layers[3]").replace("\nparallel", f"\nsingle = {ONE[8:]}\nparallel", 1)
    )
    file = migrate(program)
    assert "single.layers[3].layers[i]" in file.after
    assert not actions(file, "TFM024")


MAYBE = """
if len(sys.argv) > 1:
    model = multi_gpu_model(model, gpus=2)
for i in range(2):
    {place}.trainable = False
model.compile("sgd", "mse")
model.fit(batches)
"""


@pytest.mark.parametrize(
    ("place", "left"),
    [
        ("model.layers[3].layers[i]", "model.layers[i]"),
        ("model.layers[-2].get_layer(index=i)", "model.get_layer(index=i)"),
    ],
)
def test_what_only_a_model_has_tells_that_it_is_the_parallel_one(place: str, left: str) -> None:
    file = check_migrated("import sys\n" + HEAD + ONE + MAYBE.format(place=place))
    assert f"    {left}.trainable = False\n" in file.after
    assert "warn" not in actions(file, "TFM024")


@pytest.mark.parametrize(
    ("model", "place"),
    [
        (ONE, "model.layers[-2]"),
        ("model = Sequential([Sequential([Dense(8, input_shape=(4,))]), Dense(1)])", "model.layers[-2].layers[i]"),
        ("model = Sequential()\nmodel.add(Model(x, y))\nmodel.add(Dense(1))", "model.layers[-2].layers[i]"),
        ("model = Model(x, Dense(1)(Model(x, y)(x)))", "model.layers[-2].layers[i]"),
        ("from keras.models import load_model\nmodel = load_model('a.h5')", "model.layers[-2].layers[i]"),
    ],
)
def test_a_layer_that_may_be_one_of_the_plain_model_is_told(model: str, place: str) -> None:
    file = migrate("import sys\n" + HEAD + model + MAYBE.format(place=place))
    assert f"    {place}.trainable = False\n" in file.after
    assert "warn" in actions(file, "TFM024")
