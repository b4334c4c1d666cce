"""K.function of a model's tensors (TFM263)."""

from __future__ import annotations

import pytest

from tests import forks
from tests.kit import actions, check_migrated, migrate
from tfmigrate.plan.helpers import definition

HEAD = """\
from {keras} import backend as K
from {keras}.layers import Dense, Dropout, Input
from {keras}.models import Model
from {keras}.utils import multi_gpu_model

x = Input((4,))
hidden = Dropout(0.5)(Dense(3, name="hidden")(x))
net = Model(x, Dense(2)(hidden))
parallel = multi_gpu_model(net, gpus=2)
parallel.compile("sgd", "mse")
"""


@pytest.mark.parametrize("keras", ["keras", "tensorflow.keras"])
@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("[net.input], [net.output]", "[net.input], [net.output]"),
        ("inputs=[x], outputs=[net.output]", "inputs=[x], outputs=[net.output]"),
        ("net.inputs, net.outputs", "net.inputs, net.outputs"),
        ("[net.layers[0].input], [net.get_layer('hidden').output]",
         "[net.inputs[0]], [net.get_layer('hidden').output]"),
        ("[net.input], [net.get_layer('hidden').input]", "[net.input], [net.get_layer('hidden').input]"),
        ("[net.input, K.learning_phase()], [net.layers[2].output]", "[net.input], [net.layers[2].output]"),
        ("[x, net.inputs[0], K.learning_phase()], (net.output,)", "[x, net.inputs[0]], (net.output,)"),
        ("net.inputs + [K.learning_phase()], [one.output for one in net.layers]",
         "net.inputs, [one.output for one in net.layers]"),
    ],
)  # fmt: skip
def test_a_function_of_layers_is_a_model(keras: str, given: str, written: str) -> None:
    file = check_migrated(HEAD.format(keras=keras) + f"look = K.function({given})\nprint(look([rows, 0])[0])\n")
    assert f"look = function_of({written})\nprint(look([rows, 0])[0])\n" in file.after
    assert actions(file, "TFM263") == ["rewrite"]
    assert actions(file, "TFM501") == []
    assert "backend" not in file.after.replace("old backend", "")
    assert migrate(file.after).after == file.after


def test_a_tensor_of_the_parallel_model_is_that_of_the_model() -> None:
    file = check_migrated(HEAD.format(keras="keras") + "look = K.function([parallel.input], [parallel.output])\n")
    assert "look = function_of([net.input], [net.output])\n" in file.after


@pytest.mark.parametrize(
    ("lines", "after"),
    [
        ("every = [layer.output for layer in net.layers]\nlook = K.function([x] + [K.learning_phase()], every)",
         "look = function_of([x], every)"),
        ("every = [one.output for one in net.layers]\na = [K.function([x, K.learning_phase()], [y]) for y in every]",
         "a = [function_of([x], [y]) for y in every]"),
        ("for y in [net.output, net.layers[1].output]:\n    looks.append(K.function([x], [y]))",
         "    looks.append(function_of([x], [y]))"),
        ("for i, y in enumerate(net.outputs):\n    looks.append(K.function([x], [y]))",
         "    looks.append(function_of([x], [y]))"),
        ("given = [net.input]\nlook = K.function(given, net.outputs)", "look = function_of(given, net.outputs)"),
    ],
)  # fmt: skip
def test_tensors_may_be_listed_elsewhere(lines: str, after: str) -> None:
    file = check_migrated(f"{HEAD.format(keras='keras')}{lines}\n")
    assert after in file.after
    assert actions(file, "TFM263") == ["rewrite"]


def test_a_sequential_has_its_tensors_by_their_place() -> None:
    head = HEAD.format(keras="keras").replace("import Model", "import Model, Sequential")
    text = f"{head}chain = Sequential([Dense(1, input_shape=(4,))])\nlook = K.function([chain.input], [chain.output])\n"
    assert "look = function_of([chain.inputs[0]], [chain.outputs[0]])\n" in check_migrated(text).after


@pytest.mark.parametrize(
    "given",
    [
        "[net.input], [net.output], updates=steps",
        "[net.input], [net.output], steps",
        "[net.input, net.targets[0]], [net.total_loss]",
        "[net.input], K.gradients(net.output, net.input)",
        "[net.input], [hidden]",
        "[K.learning_phase(), net.input], [net.output]",
        "[K.learning_phase()], [net.output]",
        "[target], [net.output]",
        "net.input, net.output",
        "[*net.inputs, K.learning_phase()], [net.output]",
        "*both",
        "[], [net.output]",
        "[x], [y for y in found]",
        "[x], [y for y, _ in net.outputs]",
        "[x], [net.output * 2]",
    ],
)
def test_any_other_function_is_reported(given: str) -> None:
    line = f"look = K.function({given})\n"
    file = migrate(HEAD.format(keras="keras") + line)
    assert line in file.after
    assert "warn" in actions(file, "TFM501")
    assert actions(file, "TFM263") == []


def test_where_the_program_sets_the_phase_nothing_tells_it() -> None:
    file = migrate(HEAD.format(keras="keras") + "K.set_learning_phase(1)\nlook = K.function([x], [net.output])\n")
    assert "K.function([x]" in file.after


RUN = f"""
import numpy as np
import tensorflow as tf
from tensorflow.keras.layers import Dense, Dropout, Input
from tensorflow.keras.models import Model, Sequential


{definition("function_of", {"tf": "tf"})}


tf.keras.utils.set_random_seed(1)
rows = np.random.RandomState(0).rand(6, 4)
with tf.distribute.MirroredStrategy(["/cpu:0"]).scope():
    chain = Sequential([Dense(3, input_shape=(4,)), Dropout(0.5), Dense(2)])
first, last = chain.layers[0], chain.layers[2]
hidden = rows.astype("float32") @ first.get_weights()[0] + first.get_weights()[1]
look = function_of([chain.inputs[0]], [chain.layers[0].output, chain.outputs[0]])
values = look([rows])
print([type(value).__name__ for value in values], np.allclose(values[0], hidden, atol=1e-5))
print(np.allclose(values[1], chain.predict(rows, verbose=0), atol=1e-5))
part = function_of([chain.layers[1].input], [chain.layers[1].output])
print(np.array_equal(part([hidden, 0])[0], hidden), np.array_equal(part([hidden, 1])[0], hidden))
first.set_weights([np.zeros((4, 3)), np.ones(3)])
print(float(look(rows)[0].min()), len(part((hidden, 1.0))))
a, b = Input((4,)), Input((2,))
two = Model([a, b], Dense(1)(a) + Dense(1)(b))
every = function_of(two.inputs, [layer.output for layer in two.layers])
print(len(every([rows, rows[:, :2], 0])) == len(two.layers))
"""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", [3, 2])
def test_it_gives_what_the_backend_gave(keras: int, python: forks.Python) -> None:
    done = python(keras, RUN)
    assert done.stdout.split("\n")[:6] == [
        "['ndarray', 'ndarray'] True",
        "True",
        "True False",
        "1.0 1",
        "True",
        "",
    ], done.stderr
