"""Shapes of symbolic tensors (TFM226)."""

from __future__ import annotations

import pytest

from tests import forks
from tests.kit import actions, migrate
from tests.plan.whole import migrated
from tfmigrate.settings import Settings

TENSOR = "t = Dense(3)(Input((4,)))\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("n = t.get_shape()", "n = t.shape"),
        ("n = t.get_shape().as_list()", "n = list(t.shape)"),
        ("n = t.get_shape().as_list()[1:]", "n = list(t.shape)[1:]"),
        ("n = t.get_shape().as_list()[-1] // 2", "n = t.shape[-1] // 2"),
        ("n = len(t.get_shape().as_list())", "n = len(t.shape)"),
        ("rows, columns = t.get_shape().as_list()", "rows, columns = t.shape"),
        ("n = t.get_shape().as_list() + [2]", "n = list(t.shape) + [2]"),
        ("n = int(t.get_shape()[1])", "n = int(t.shape[1])"),
        ("n = t.get_shape()[1].value", "n = t.shape[1]"),
        ("n = t.shape[-1].value", "n = t.shape[-1]"),
        ("n = t.shape.as_list()", "n = list(t.shape)"),
        ("_, n = t.get_shape()\nm = n.value // 2", "_, n = t.shape\nm = n // 2"),
        ("rows, n = t.shape\nm = [rows.value, n.value]", "rows, n = t.shape\nm = [rows, n]"),
        ("n = t.get_shape()[1]\nm = n.value", "n = t.shape[1]\nm = n"),
        ("n = [size.value for size in t.get_shape()[1:]]", "n = [size for size in t.shape[1:]]"),
        ("for size in t.shape:\n    print(size.value)", "for size in t.shape:\n    print(size)"),
        ("n = t.shape.ndims + t.get_shape().ndims", "n = len(t.shape) + len(t.shape)"),
        ("n = t._keras_shape[1]", "n = t.shape[1]"),
        ("s = t.get_shape()\nn = s.as_list()[1] + s[1].value", "s = t.shape\nn = s[1] + s[1]"),
        ("a, b = t.get_shape()\nn = b.value", "a, b = t.shape\nn = b"),
        ("a, b = t.shape\nn = [None, b.value * 2]", "a, b = t.shape\nn = [None, b * 2]"),
        ("a = t.get_shape()[1]\nn = a.value", "a = t.shape[1]\nn = a"),
        ("n = [size.value for size in t.shape[1:]]", "n = [size for size in t.shape[1:]]"),
        ("for size in t.get_shape():\n    print(size.value)", "for size in t.shape:\n    print(size)"),
        ("def f(u):\n    return u.get_shape().as_list()\n\n\nf(t)", "def f(u):\n    return list(u.shape)\n\n\nf(t)"),
        ("def f(u):\n    return u.get_shape().as_list()", "def f(u):\n    return list(u.shape)"),
    ],
)
def test_a_shape_is_written_as_every_version_has_it(before: str, after: str) -> None:
    text, done = migrated(TENSOR + before, "TFM226")
    assert text == (TENSOR + after).rstrip("\n")
    assert done
    assert set(done) == {"rewrite"}


@pytest.mark.parametrize(
    "lines",
    [
        "n = np.zeros((2, 3)).shape[1]",
        "n = K.int_shape(t)[1]",
        "n = t.shape[1]",
        "class Grid:\n    def get_shape(self):\n        return self\n    def as_list(self):\n        return []\n\n\n"
        "n = Grid().get_shape().as_list()",
        "n = {'a': 1}['a'].value",
        "a, b = t.shape\nb = Grid()\nn = b.value",
        "n = [size.value for size in sizes]",
        "class Grid:\n    shape = [1]\n\n\nn = Grid().shape[0].value",
        "class Grid:\n    shape = [1]\n\n\nn, _ = Grid().shape\nm = n.value",
        "n, m = 1, t\nk = n.value",
        "n, m = t.shape\nn = other()\nk = n.value",
        "n, m = K.get_variable_shape(t)\nk = n.value",
        "for size in sizes:\n    print(size.value)",
    ],
)
def test_other_shapes_stay(lines: str) -> None:
    assert migrated(TENSOR + lines, "TFM226") == (TENSOR + lines, [])


NET = """\
import numpy as np
from keras.layers import Conv2D, Input, add
from keras.models import Model
from keras.utils import multi_gpu_model


def block(x, filters):
    y = Conv2D(filters, 3, padding="same")(x)
    if {test}:
        y = add([y, x])
    return y


pixels = Input({shape})
net = Model(pixels, block(pixels, 4))
parallel = multi_gpu_model(net, gpus=2)
parallel.compile("sgd", "mse")
"""
CLOSED, OPEN = "(8, 8, 4)", "(None, None, 4)"


def told_of(test: str, shape: str = CLOSED, written_for: str | None = None) -> list[str]:
    return actions(migrate(NET.format(test=test, shape=shape), Settings(from_version=written_for)), "TFM226")


@pytest.mark.parametrize(
    ("test", "shape"),
    [
        ("x.shape == y.shape", CLOSED),
        ("y.shape != x.shape", CLOSED),
        ("x.shape == (None, 8, 8, 4)", CLOSED),
        ("x.shape[:3] == y.shape[:3]", CLOSED),
        ("x.shape in [y.shape]", CLOSED),
        ("tuple(x.shape) == tuple(y.shape)", CLOSED),
        ("x.shape[0] == y.shape[0]", CLOSED),
        ("x.shape[0] != 16", CLOSED),
        ("x.shape[1] is None", CLOSED),
        ("x.shape[1] != None", CLOSED),
        ("x.shape[1:] == y.shape[1:]", OPEN),
        ("x.shape[1] == y.shape[1]", OPEN),
        ("x.shape[-2] != 8", OPEN),
    ],
)
def test_comparisons_that_have_another_result_are_reported(test: str, shape: str) -> None:
    assert told_of(test, shape) == ["warn"]


@pytest.mark.parametrize(
    ("test", "shape"),
    [
        ("x.shape[1:] == y.shape[1:]", CLOSED),
        ("x.shape[1] == y.shape[1]", CLOSED),
        ("x.shape[-1] != filters", CLOSED),
        ("x.shape[-1] != filters", OPEN),
        ("x.shape[axis] != y.shape[axis]", OPEN),
        ("x.shape[0] == 16", CLOSED),
        ("x.shape[0] != y.shape[0]", CLOSED),
        ("x.shape[-1] is None", CLOSED),
        ("len(x.shape) == 4", OPEN),
        ("K.int_shape(x) == K.int_shape(y)", OPEN),
        ("x.shape == [None, 8, 8, 4]", CLOSED),
        ("table.shape == other.shape", CLOSED),
        ("np.zeros(3).shape == np.ones(3).shape", CLOSED),
        ("np.zeros(3).shape == [3]", CLOSED),
        ("x.name == y.name", CLOSED),
    ],
)
def test_comparisons_that_mean_the_same_are_not(test: str, shape: str) -> None:
    assert told_of(test, shape) == []


WEIGHTS = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


def same_length(kernel, bias):
    return kernel.shape[0] == bias.shape[0]


net = Sequential([Dense(4, input_shape=(4,), name="only")])
kernel, bias = {layer}.get_weights()
print(kernel.shape[0] == bias.shape[0], same_length(kernel, bias))
parallel = multi_gpu_model(net, gpus=2)
parallel.compile("sgd", "mse")
"""


@pytest.mark.parametrize("layer", ["net.get_layer('only')", "net.layers[0]", "net", "Dense(4)"])
def test_the_shapes_of_weights_are_those_of_arrays(layer: str) -> None:
    assert actions(migrate(WEIGHTS.format(layer=layer)), "TFM226") == []


@pytest.mark.parametrize(
    ("test", "told"),
    [("x.shape == y.shape", ["warn"]), ("x.shape[0] == y.shape[0]", []), ("tuple(x.shape) == tuple(y.shape)", [])],
)
def test_sizes_were_numbers_from_tensorflow_2_on(test: str, told: list[str]) -> None:
    assert told_of(test, written_for="tensorflow==2.1") == told


def test_get_shape_is_written_anew_and_its_comparison_reported() -> None:
    assert sorted(told_of("x.get_shape() == y.get_shape()")) == ["rewrite", "rewrite", "warn"]
    assert set(told_of("x.get_shape().as_list() == y.get_shape().as_list()")) == {"rewrite"}


def test_a_list_is_compared_with_a_list() -> None:
    file = migrate(NET.format(test="y.shape[1:] == [8, 8, 4]", shape=CLOSED))
    assert "if list(y.shape[1:]) == [8, 8, 4]:" in file.after


def test_a_shape_in_a_variable_is_one() -> None:
    text = NET.format(test="size == y.shape", shape=CLOSED).replace(
        "    y = Conv2D", "    size = x.shape\n    y = Conv2D"
    )
    assert actions(migrate(text), "TFM226") == ["warn"]


COMPARED = """\
from tensorflow.keras.layers import Input

x, y = Input((8, 4)), Input((8, 4))
print(x.shape == y.shape, tuple(x.shape[1:]) == tuple(y.shape[1:]), list(x.shape[1:]) == [8, 4], x.shape[0] is None)
"""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", [3, 2])
def test_equal_shapes_are_equal_today(keras: int, python: forks.Python) -> None:
    assert python(keras, COMPARED).stdout.split() == ["True"] * 4


@pytest.mark.parametrize(
    "test", ["u.shape.ndims is None", "u.shape.rank not in (None, 1)", "u.get_shape().ndims == None"]
)
def test_the_rank_of_a_shape_that_may_be_unknown_stays(test: str) -> None:
    """len() of such a shape raises ValueError."""
    text, _ = migrated(f"def f(u):\n    return {test}", "TFM226")
    assert f"return {test.replace('get_shape()', 'shape')}" in text


LAYER = "class Own(keras.layers.Layer):\n    def {method}(self, u):\n        shape = u.shape\n        return {test}"


@pytest.mark.parametrize(
    ("test", "left"),
    [
        ("shape.ndims is not None and shape.ndims < 2", "len(shape) < 2"),
        ("shape.ndims is None or len(shape) == 2 or self.flat", "len(shape) == 2 or self.flat"),
        ("not (shape.rank is not None and u.shape.rank < 2)", "not len(u.shape) < 2"),
    ],
)
def test_that_the_rank_is_known_is_not_asked_in_a_layer(test: str, left: str) -> None:
    text, _ = migrated(LAYER.format(method="call", test=test), "TFM226")
    assert f"return {left}" in text


@pytest.mark.parametrize("method", ["build", "other"])
def test_that_the_rank_is_known_is_asked_where_anyone_may_call(method: str) -> None:
    test = "shape.ndims is not None and len(shape) < 2"
    text, _ = migrated(LAYER.format(method=method, test=test), "TFM226")
    assert f"return {test}" in text


def test_the_rank_of_a_tensor_of_a_model_is_known() -> None:
    text, _ = migrated(f"{TENSOR}x = t.shape.ndims is None", "TFM226")
    assert "x = len(t.shape) is None" in text
