"""`model.input_names`, which a model of Keras 3 lacks."""

from __future__ import annotations

import pytest

from tests import forks
from tests.kit import actions, check_migrated, migrate

HEAD = """\
from keras.layers import Dense, Input
from keras.models import Model
from keras.utils import multi_gpu_model

x = Input((4,), name="pixels")
net = Model(x, Dense(2)(x))
{code}
parallel = multi_gpu_model(net, gpus=2)
parallel.compile("sgd", "mse")
"""


@pytest.mark.parametrize(
    ("code", "after"),
    [
        ("print(net.input_names)", "print([each.name for each in net.inputs])"),
        (
            "def names(model):\n    return model.input_names[0]",
            "def names(model):\n    return [each.name for each in model.inputs][0]",
        ),
        (
            "def names(trainer):\n    return trainer.keras_model.input_names",
            "def names(trainer):\n    return [each.name for each in trainer.keras_model.inputs]",
        ),
    ],
)
def test_the_names_of_a_models_inputs_are_written_out(code: str, after: str) -> None:
    file = check_migrated(HEAD.format(code=code))
    assert after in file.after
    assert actions(file, "TFM278") == ["rewrite"]


@pytest.mark.parametrize(
    "code",
    [
        "print(net.output_names)",
        "def names(reader):\n    return reader.input_names",
        "class Net:\n    input_names = []\n\n\nmodel = Net()\nprint(model.input_names)",
    ],
)
def test_names_of_anything_else_stay(code: str) -> None:
    file = migrate(HEAD.format(code=code))
    assert code in file.after
    assert actions(file, "TFM278") == []


ASKED = """\
from tensorflow.keras.layers import Add, Dense, Input
from tensorflow.keras.models import Model, Sequential

a, b = Input((4,), name="pixels"), Input((4,))
model = Model([a, b], Dense(1)(Add()([a, b])))
print({asked}[0])
model = Sequential([Input((4,), name="first"), Dense(1)])
print({asked})
"""


@pytest.mark.runs_tensorflow
def test_the_names_are_those_of_keras_2(python: forks.Python) -> None:
    was = python(2, ASKED.format(asked="model.input_names")).stdout
    assert was.split() == ["pixels", "['first']"]
    for keras in (3, 2):
        assert python(keras, ASKED.format(asked="[each.name for each in model.inputs]")).stdout == was
