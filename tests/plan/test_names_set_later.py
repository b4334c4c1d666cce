"""TFM259: names that are set after the model or layer was made."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated

PROGRAM = """
from keras.layers import Dense, Input
from keras.models import Model, Sequential
from keras.utils import multi_gpu_model


class Net:
    name = "net"

    def __init__(self):
        self.name = "own"


x = Input(shape=(4,))
{lines}
model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile(loss="mse", optimizer="sgd")
parallel_model.train_on_batch(data, targets)
"""


def rewritten(lines: str) -> tuple[str, list[str]]:
    file = check_migrated(PROGRAM.format(lines=lines))
    after = file.after.partition("x = Input(shape=(4,))\n")[2].partition("\nstrategy = ")[0]
    return after, actions(file, "TFM259")


@pytest.mark.parametrize(
    ("lines", "after"),
    [
        ('part = Model(x, x)\npart.name = "part"', 'part = Model(x, x, name="part")'),
        ('part = Sequential()\npart.name = "part"', 'part = Sequential(name="part")'),
        ('first = Dense(4)\ny = first(x)\nfirst.name = "first"', 'first = Dense(4, name="first")\ny = first(x)'),
    ],
)
def test_a_name_is_given_where_the_object_is_made(lines: str, after: str) -> None:
    assert rewritten(lines) == (after, ["rewrite"])


@pytest.mark.parametrize(
    "lines",
    [
        'part = Model(x, x)\npart.name = "part" + kind',
        'part = Model(x, x, name="a")\npart.name = "part"',
        'part = Model(x, x, "a")\npart.name = "part"',
        'part = Model(x, x)\nif kind:\n    part.name = "part"',
        "part = Model(x, x)\nfor layer in part.layers:\n    layer.name = layer.name + '_2'",
        'part = Model(x, x)\npart.get_layer("a").name = "b"',
        'y = Dense(4)(x)\ny._keras_history[0].name = "first"',
        'y = Dense(4)(x)\ny._keras_history.layer.name = "first_%d" % kind',
    ],
)
def test_any_other_is_reported(lines: str) -> None:
    assert rewritten(lines) == (lines, ["warn"])


@pytest.mark.parametrize("lines", ['net = Net()\nnet.name = "other"', 'file = open(p)\nfile.name = "a"', "a.name = 3"])
def test_other_objects_have_names_of_their_own(lines: str) -> None:
    assert rewritten(lines) == (lines, [])
