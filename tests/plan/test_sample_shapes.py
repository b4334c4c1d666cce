"""Which axes a reduction leaves: the mean of one value a sample is dropped, that of any other is not."""

from __future__ import annotations

import textwrap

import pytest

from tests.kit import check_migrated

PROGRAM = """
from keras import backend as K
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

def loss(t, p):
    return K.mean({inner})

model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile("sgd", loss)
"""


@pytest.mark.parametrize(
    ("inner", "by_sample"),
    [
        ("K.sum(K.square(t - p), axis=[1, 2])", True),
        ("K.sum(K.square(t - p), axis=[1, 0])", False),
        ("K.sum(K.square(t - p), axis=[0, 1])", False),
        ("K.sum(K.square(t - p), axis=-1)", True),
        ("K.sum(K.square(t - p), axis=0x1)", True),
        ("K.sum(K.square(t - p), axis=[1, -1])", False),
        ("K.sum(K.sum(t - p, axis=1), axis=-1)", False),
        ("K.sum(t - p, axis=which)", False),
    ],
)
def test_a_reduction_over_the_first_axis_mixes_samples(inner: str, by_sample: bool) -> None:
    file = check_migrated(PROGRAM.format(inner=inner))
    assert (f"    return {inner}\n" in file.after) is by_sample


@pytest.mark.parametrize(
    ("lines", "becomes"),
    [
        ("p = K.clip(p, 0.1, 1 - 0.1)\nreturn -K.mean(K.sum(t * K.log(p), axis=1))", "-K.sum(t * K.log(p), axis=1)"),
        ("x = t - p\nx = K.abs(x)\nreturn K.mean(x)", "K.mean(x, axis=-1)"),
        ("x = K.abs(t - p)\nx = K.mean(x)\nreturn 2 * x", "2 * x"),
        ("return K.mean(tf.where(t > 0, t - p, p))", "K.mean(tf.where(t > 0, t - p, p), axis=-1)"),
        ("return K.mean(K.categorical_crossentropy(t, p))", "K.categorical_crossentropy(t, p)"),
        ("return K.mean(K.log(p) * t[..., :-1])", "K.mean(K.log(p) * t[..., :-1], axis=-1)"),
        (
            "return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=t, logits=p))",
            "tf.nn.softmax_cross_entropy_with_logits(labels=t, logits=p)",
        ),
        ("return K.mean(mean_squared_error(t, p))", "mean_squared_error(t, p)"),
    ],
)
def test_a_mean_by_another_way_is_one_too(lines: str, becomes: str) -> None:
    after = of_lines(lines)
    assert "whole_batch" not in after
    assert f"    return {becomes}\n" in after


@pytest.mark.parametrize(
    "lines",
    [
        "t = K.flatten(t)\nt = K.abs(t)\np = K.flatten(p)\np = K.abs(p)\nreturn K.mean(t - p)",
        "if K.epsilon():\n    p = K.sum(p, axis=-1)\nreturn K.mean(p)",
        "for _ in range(2):\n    p = K.sum(p, axis=-1)\nreturn K.mean(p)",
        "p -= 1\nreturn K.mean(K.abs(p))",
        "return K.mean(tf.where(t > 0))",
        "return K.mean(K.categorical_crossentropy(t, p, axis=0))",
        "return K.mean(p[..., 0, :])",
        "x = K.sum(p, axis=1)\nx = K.sum(x, axis=0)\nreturn K.mean(x)",
    ],
)
def test_what_is_bound_again_to_something_else_is_none(lines: str) -> None:
    assert "whole_batch(loss)" in of_lines(lines)


def of_lines(lines: str) -> str:
    """The migrated program of a loss of these lines."""
    imports = "import tensorflow as tf\nfrom keras.losses import mean_squared_error\n"
    body = textwrap.indent(lines, "    ")
    return check_migrated(imports + PROGRAM.replace("    return K.mean({inner})", body)).after


@pytest.mark.parametrize(
    ("above", "stays"),
    [
        ("# Keras wants one number,\n# so take the mean.\n", False),
        ("# a scalar for the whole batch\n", False),
        ("# the sum over the classes\n", True),
        ("# x = K.mean(x)\n", True),
    ],
)
def test_what_was_said_of_the_mean_goes_with_it(above: str, stays: bool) -> None:
    after = of_lines(f"x = K.sum(K.abs(t - p), axis=-1)\n{above}y = K.mean(x)\nreturn y")
    assert "    y = x\n" in after
    assert (above.splitlines()[0] in after) is stays


def test_a_mean_under_the_name_of_its_values_goes_whole() -> None:
    after = of_lines("x = K.sum(K.abs(t - p), axis=-1)\nx = K.mean(x)\nreturn 2 * x")
    assert "    x = K.sum(K.abs(t - p), axis=-1)\n    return 2 * x\n" in after
