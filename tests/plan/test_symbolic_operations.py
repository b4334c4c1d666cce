"""Operations between the layers of a functional model, which Keras 3 takes as layers alone."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated

PROGRAM = """\
import tensorflow as tf
from {keras} import backend as K
from {keras}.layers import Dense, Input, Lambda, Layer
from {keras}.models import Model
from {keras}.utils import multi_gpu_model


{defined}


x = Input((4,))
a = Dense(3)(x)
b = Dense(3)(x)
{code}
model = Model(x, Dense(2)(y))
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
"""


def program(code: str, defined: str = "", keras: str = "tensorflow.keras") -> str:
    return PROGRAM.format(code=code, defined=defined, keras=keras)


LAMBDA = "tf.keras.layers.Lambda(lambda t: "
BLOCK = "def block(x):\n    y = Dense(3)(x)\n    return {}"


@pytest.mark.parametrize(
    ("code", "after"),
    [
        ("y = tf.concat([a, b], 1)", f"y = {LAMBDA}tf.concat(t, 1))([a, b])"),
        ("y = K.concatenate([a, b], axis=-1)", f"y = {LAMBDA}K.concatenate(t, axis=-1))([a, b])"),
        ("y = tf.nn.relu(a)", f"y = {LAMBDA}tf.nn.relu(t))(a)"),
        ("y = tf.maximum(a, b)", f"y = {LAMBDA}tf.maximum(t[0], t[1]))([a, b])"),
        ("y = tf.maximum(x=a, y=b)", f"y = {LAMBDA}tf.maximum(x=t[0], y=t[1]))([a, b])"),
        (
            "y = K.mean(Dense(3)(a), axis=-1, keepdims=True)",
            f"y = {LAMBDA}K.mean(t, axis=-1, keepdims=True))(Dense(3)(a))",
        ),
        ("z = K.square(a)\ny = K.exp(z)", f"y = {LAMBDA}K.exp(t))(z)"),
        ("inner = Model(x, a)\ny = tf.nn.relu(inner(x))", f"y = {LAMBDA}tf.nn.relu(t))(inner(x))"),
    ],
)
def test_they_become_layers(code: str, after: str) -> None:
    file = check_migrated(program(code))
    assert f"    {after}\n" in file.after
    assert set(actions(file, "TFM269")) == {"rewrite"}


def test_in_a_function_that_builds_a_part() -> None:
    file = check_migrated(program("y = block(a)", BLOCK.format("tf.concat([x, y], 1)")))
    assert f"return {LAMBDA}tf.concat(t, 1))([x, y])" in file.after


@pytest.mark.parametrize(
    "code", ["y = tf.reshape(a, [tf.shape(x)[0], 3])", "s = tf.shape(x)\ny = K.reshape(a, (s[0], 3))"]
)
def test_where_an_output_is_a_part_of_another_argument_it_is_reported(code: str) -> None:
    file = check_migrated(program(code))
    assert actions(file, "TFM269").count("warn") == 1
    assert code.splitlines()[-1] in file.after.replace(
        "tf.keras.layers.Lambda(lambda t: tf.shape(t))(x)", "tf.shape(x)"
    )


METHOD = "class Part({base}):\n    def call(self, x):\n        y = Dense(3)(x)\n        return tf.concat([y, y], 1)"
TAPE = "def step(x):\n    with tf.GradientTape() as tape:\n        return tf.nn.relu(Dense(3)(x))"


@pytest.mark.parametrize(
    ("code", "defined", "keras"),
    [
        ("y = Lambda(lambda t: tf.nn.relu(t))(a)", "", "tensorflow.keras"),
        ("y = Lambda(f)([a, b])", "def f(t):\n    return tf.concat(t, 1)", "tensorflow.keras"),
        ("y = Part()(a)", METHOD.format(base="Layer"), "tensorflow.keras"),
        ("y = Part()(a)", METHOD.format(base="Model"), "tensorflow.keras"),
        ("y = tf.nn.relu(a)", TAPE, "tensorflow.keras"),
        ("y = a + b", "", "tensorflow.keras"),
        ("y = a\nprint(K.int_shape(a), K.ndim(a))", "", "tensorflow.keras"),
        ("y = a\nz = tf.nn.relu(rows)", "", "tensorflow.keras"),
        ("y = tf.keras.layers.concatenate([a, b])", "", "tensorflow.keras"),
        ("y = K.concatenate([a, b])", "", "keras"),
    ],
)
def test_what_is_a_layer_already_or_computes_with_tensors_is_left_alone(code: str, defined: str, keras: str) -> None:
    file = check_migrated(program(code, defined, keras))
    assert actions(file, "TFM269") == []


@pytest.mark.parametrize(
    "defined",
    ["def loss(t, p):\n    return K.mean(K.abs(a))", "total = Lambda(lambda t: K.sum(a, axis=-1))"],
)
def test_what_reads_a_tensor_of_the_code_round_it_is_left_to_its_own_rule(defined: str) -> None:
    file = check_migrated(program(f"{defined}\ny = a"))
    assert actions(file, "TFM269") == []
