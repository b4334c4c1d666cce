"""The tensors of a Sequential: written as the first of its lists, told, or left where the model is another."""

from __future__ import annotations

import pytest

from tests import forks
from tests.kit import actions, check_migrated

PROGRAM = """
from keras.layers import Dense, Input
from keras.models import Model, Sequential, load_model
from keras.utils import multi_gpu_model

def sequential():
    return Sequential([Dense(3, input_shape=(4,)), Dense(1)])

def functional():
    x = Input((4,))
    return Model(x, Dense(1)(x))

def several():
    x = Input((4,))
    return Model([x, x], [Dense(1)(x), x])

model = {made}
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
parallel.train_on_batch(x, y)
{line}
"""
SEQUENTIAL = "Sequential([Dense(3, input_shape=(4,)), Dense(1)])"


@pytest.mark.parametrize(
    ("line", "new"),
    [
        ("part = Model(model.input, model.layers[0].output)", "part = Model(model.inputs[0], model.layers[0].output)"),
        ("print(parallel.output)", "print(model.outputs[0])"),
        ("part = Model(model.get_input_at(0), model.output)", "part = Model(model.inputs[0], model.outputs[0])"),
        (
            "def show(m):\n    print(m.input.shape)\nshow(model)",
            "def show(m):\n    print(m.inputs[0].shape)\nshow(model)",
        ),
    ],
)
def test_the_first_of_its_lists_is_written(line: str, new: str) -> None:
    file = check_migrated(PROGRAM.format(made=SEQUENTIAL, line=line))
    assert new in file.after
    assert "rewrite" in actions(file, "TFM242") + actions(file, "TFM277")
    assert not [finding for finding in file.findings if finding.action != "rewrite"]


def test_a_model_that_is_built_by_pieces() -> None:
    made = "Sequential()\nmodel.add(Dense(3, input_shape=(4,)))\nmodel.add(Dense(1))"
    file = check_migrated(PROGRAM.format(made=made, line="print(model.output)"))
    assert "print(model.outputs[0])" in file.after


def test_either_kind_with_one_input() -> None:
    line = "one = sequential() if first else functional()\nprint(one.input)"
    file = check_migrated(PROGRAM.format(made=SEQUENTIAL, line=line))
    assert "print(one.inputs[0])" in file.after


@pytest.mark.parametrize("other", ["several()", "load_model('model.h5')"])
def test_what_may_have_several_is_told(other: str) -> None:
    line = f"one = sequential() if first else {other}\nprint(one.input)"
    file = check_migrated(PROGRAM.format(made=SEQUENTIAL, line=line))
    assert "print(one.input)" in file.after
    assert actions(file, "TFM242") == ["warn"]


@pytest.mark.parametrize(
    ("made", "line"),
    [
        ("functional()", "part = Model(model.input, model.output)"),
        ("several()", "part = Model(model.input, model.output)"),
        (SEQUENTIAL, "print(model.layers[0].input, model.get_layer('dense').output, model.input_shape)"),
        (SEQUENTIAL, "print(arguments.input, arguments.output)"),
        (SEQUENTIAL, "settings.input = model"),
        (SEQUENTIAL, "other = load_model('model.h5')\nprint(other.input)"),
    ],
)
def test_others_stay(made: str, line: str) -> None:
    file = check_migrated(PROGRAM.format(made=made, line=line))
    assert line in file.after
    assert actions(file, "TFM242") == []


RUN = """
import numpy as np
from tensorflow.keras.layers import Dense, Input
from tensorflow.keras.models import Model, Sequential

chain = Sequential([Dense(4, input_shape=(3,)), Dense(2)])
try:
    print(chain.input is chain.inputs[0], chain.output is chain.outputs[0])
except AttributeError as error:
    print("never been called" in str(error))
outer = Model(x := Input((3,)), chain(x))
print(chain.input is x)
rows = np.ones((2, 3))
part = Model(chain.inputs[0], chain.outputs[0])
print(np.allclose(part.predict(rows, verbose=0), chain.predict(rows, verbose=0)))
"""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize(("keras", "told"), [(3, ["True", "True", "True"]), (2, ["True True", "False", "True"])])
def test_keras_3_has_those_of_the_first_call(keras: int, told: list[str], python: forks.Python) -> None:
    done = python(keras, RUN)
    assert done.stdout.split("\n") == [*told, ""], done.stderr
