"""What a layer of Keras 2 knew of its calls."""

from __future__ import annotations

import pytest

from tests import forks
from tests.kit import actions, check_migrated, migrate

HEAD = """\
from keras.layers import Dense, Input
from keras.models import Model
from keras.utils import multi_gpu_model

x = Input((4,))
dense = Dense(3)
model = Model(x, Dense(2)(dense(x)))
{code}
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
"""


@pytest.mark.parametrize(
    ("code", "after"),
    [
        ("print(model.layers[-1].output_shape)", "print(model.layers[-1].output.shape)"),
        ("print(model.layers[1].input_shape[1:])", "print(model.layers[1].input.shape[1:])"),
        ("print(model.layers[0].input_shape[1])", "print(model.input_shape[1])"),
        ("print(model.get_layer('a').output_shape)", "print(model.get_layer('a').output.shape)"),
        ("print(dense.output_shape)", "print(dense.output.shape)"),
        ("print(dense.get_output_at(0))", "print(dense.output)"),
        ("print(dense.get_output_shape_at(0))", "print(dense.output.shape)"),
        ("print(model.get_output_at(0), model.get_input_at(0))", "print(model.output, model.input)"),
        ("print(model.get_input_shape_at(0)[1:])", "print(model.input_shape[1:])"),
        ("for l in model.layers:\n    print(l.output_shape)", "for l in model.layers:\n    print(l.output.shape)"),
        ("print([l.output_shape for l in model.layers])", "print([l.output.shape for l in model.layers])"),
        (
            "for i, l in enumerate(model.layers[1:]):\n    print(l.output_shape)",
            "for i, l in enumerate(model.layers[1:]):\n    print(l.output.shape)",
        ),
        (
            "own = [l for l in model.layers if l.built]\nfor l, n in zip(own, names):\n    print(l.output_shape)",
            "own = [l for l in model.layers if l.built]\nfor l, n in zip(own, names):\n    print(l.output.shape)",
        ),
        (
            "def show(net):\n    print(net.layers[-2].output_shape)",
            "def show(net):\n    print(net.layers[-2].output.shape)",
        ),
    ],
)
def test_the_first_call_of_a_layer_is_its_input_and_output(code: str, after: str) -> None:
    file = check_migrated(HEAD.format(code=code))
    assert f"{after}\n" in file.after
    assert next(finding.action for finding in file.findings if finding.code == "TFM277") == "rewrite"


@pytest.mark.parametrize(
    "code",
    [
        "for l in model.layers:\n    print(l.input_shape)",
        "for l in model.layers:\n    print(l.get_input_shape_at(0))",
        "print(dense.get_output_at(1))",
        "print(dense.get_output_at(-1))",
        "print(dense.get_output_at(number))",
    ],
)
def test_what_keras_3_may_not_know_is_reported(code: str) -> None:
    file = migrate(HEAD.format(code=code))
    assert code in file.after
    assert actions(file, "TFM277") == ["warn"]


@pytest.mark.parametrize(
    "code",
    [
        "print(model.output_shape, model.input_shape)",
        "print(data.output_shape)",
        "data.layers[0].output_shape = (1, 2)",
        "print(data.layers[:2].output_shape)",
        "print(data.get_output_at(0, 1))",
        "for data in folder.images:\n    print(data.output_shape)",
    ],
)
def test_shapes_of_models_and_of_other_things_are_left_alone(code: str) -> None:
    file = migrate(HEAD.format(code=code))
    assert code in file.after
    assert "TFM277" not in {finding.code for finding in file.findings}


ASKED = """\
from tensorflow.keras.layers import Dense, Input
from tensorflow.keras.models import Model

x = Input((4,))
dense = Dense(3)
model = Model(x, Dense(2)(dense(x)))
print([tuple(shape) for shape in ({asked})])
"""


@pytest.mark.runs_tensorflow
def test_the_shapes_are_those_of_keras_2(python: forks.Python) -> None:
    old = ["model.layers[-1].output_shape", "model.layers[1].input_shape", "dense.get_output_shape_at(0)"]
    lines = check_migrated(HEAD.format(code=f"asked = ({', '.join(old)})")).after.splitlines()
    new = next(line for line in lines if "asked = " in line).strip()[len("asked = (") : -1]
    was = python(2, ASKED.format(asked=", ".join(old))).stdout
    assert was.strip() == "[(None, 2), (None, 4), (None, 3)]"
    for keras in (3, 2):
        assert python(keras, ASKED.format(asked=new)).stdout == was


def test_the_base_whose_tensors_are_asked_for_by_a_method_goes_into_the_scope_too() -> None:
    text = """\
from keras.layers import Dense, Input
from keras.models import Model
from keras.utils import multi_gpu_model

rows = Input((4,))
features = Model(rows, Dense(3)(rows))
model = Model(features.get_input_at(0), Dense(1)(features.get_output_at(0)))
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
"""
    after = check_migrated(text).after
    assert "    features = Model(rows, Dense(3)(rows))\n" in after
    assert "    model = Model(features.input, Dense(1)(features.output))\n" in after


INPUTS = """from keras.layers import Dense, Input, add
from keras.models import Model, Sequential, load_model
from keras.utils import multi_gpu_model
from data import rows, y

x = Input((4,), name="start")
{made}
parallel = multi_gpu_model(net, gpus=2)
parallel.compile("sgd", "mse")
parallel.train_on_batch(rows, y)
part = Model({given}, net.get_layer("hidden").output)
"""
FUNCTIONAL = 'net = Model(x, Dense(2)(Dense(3, name="hidden")(x)))'
LOADED = 'net = load_model("net.h5")'
SEQUENTIAL = 'net = Sequential([Dense(3, name="hidden", input_shape=(4,)), Dense(2)])'
SEVERAL = 'z = Input((4,))\nnet = Model([x, z], Dense(2)(Dense(3, name="hidden")(add([x, z]))))'


@pytest.mark.parametrize(
    ("made", "given", "after"),
    [
        (FUNCTIONAL, "net.layers[0].input", "net.inputs[0]"),
        (LOADED, "net.layers[0].input", "net.inputs[0]"),
        (SEQUENTIAL, "net.layers[0].input", "net.layers[0].input"),
        (SEVERAL, "net.layers[0].input", "net.layers[0].output"),
        (FUNCTIONAL, 'net.get_layer("start").input', 'net.get_layer("start").output'),
        (FUNCTIONAL, 'net.get_layer(name="start").input', 'net.get_layer(name="start").output'),
        (FUNCTIONAL, 'net.get_layer("hidden").input', 'net.get_layer("hidden").input'),
        (FUNCTIONAL, "net.layers[1].input", "net.layers[1].input"),
    ],
)
def test_an_input_layer_has_no_input(made: str, given: str, after: str) -> None:
    assert (
        f'part = Model({after}, net.get_layer("hidden").output)' in migrate(INPUTS.format(made=made, given=given)).after
    )
