"""Sizes of layers that NumPy computed (TFM230)."""

from __future__ import annotations

import pytest

from tests.plan.whole import migrated


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Dense(np.prod(shape))", "Dense(int(np.prod(shape)))"),
        ("Dense(units=np.prod(shape) * 2)", "Dense(units=int(np.prod(shape) * 2))"),
        ("Dense(512 / 2)", "Dense(int(512 / 2))"),
        ("size = np.int64(3)\nDense(size)", "size = np.int64(3)\nDense(int(size))"),
        ("keras.layers.RepeatVector(np.max(sizes))", "keras.layers.RepeatVector(int(np.max(sizes)))"),
        ("keras.layers.Conv2D(64 / 2, 3)", "keras.layers.Conv2D(int(64 / 2), 3)"),
        (
            "n = 64 / 2\nkeras.layers.Conv2D(filters=n, kernel_size=3)",
            "n = 64 / 2\nkeras.layers.Conv2D(filters=int(n), kernel_size=3)",
        ),
        ("Input((9, size / 2, 3))", "Input((9, int(size / 2), 3))"),
        ("Input(shape=(size / 2,))", "Input(shape=(int(size / 2),))"),
        ("keras.layers.UpSampling2D((n / 2, 2))", "keras.layers.UpSampling2D((int(n / 2), 2))"),
        ("keras.initializers.RandomUniform(seed=42.0)", "keras.initializers.RandomUniform(seed=int(42.0))"),
        ("seed = 7.0\nkeras.layers.Dropout(0.1, seed=seed)", "seed = 7.0\nkeras.layers.Dropout(0.1, seed=int(seed))"),
        ("Dense(1, input_shape=(size / 2,))", "Dense(1, input_shape=(int(size / 2),))"),
    ],
)
def test_it_becomes_an_integer_of_python(before: str, after: str) -> None:
    assert migrated(before, "TFM230") == (after, ["rewrite"])


@pytest.mark.parametrize(
    "lines",
    [
        "def classes():\n    return np.max(labels) + 1\n\n\ndef f(count=None):\n    return Dense({})\n\n\nf(classes())",
        "class Data:\n    def __init__(self):\n        self.n = 1 + np.max(labels)\n\n\ncount = Data().n\nDense({})",
        "count = 3\nif labels:\n    count = np.max(labels)\nDense({})",
        "count = 9\ncount /= 3\nDense({})",
    ],
)
def test_it_is_followed_through_the_program(lines: str) -> None:
    assert migrated(lines.format("count"), "TFM230") == (lines.format("int(count)"), ["rewrite"])


def test_an_embedding_has_two_sizes() -> None:
    text, done = migrated("keras.layers.Embedding(np.max(w) + 1, output_dim=8 / 2)", "TFM230")
    assert "Embedding(int(np.max(w) + 1), output_dim=int(8 / 2)" in text
    assert done == ["rewrite", "rewrite"]


@pytest.mark.parametrize(
    "lines",
    [
        "Dense(int(np.prod(shape)))",
        "Dense(len(shape))",
        "Dense(size // 2)",
        "Dense(len(np.max(labels, axis=0)))",
        "count = int(np.max(labels)) + 1\nDense(count)",
        "keras.layers.Conv2D(np.prod(shape), 3)",
        "keras.layers.Dropout(1 / 2)",
        "keras.layers.Conv2D(filters, 3)",
        "keras.layers.Conv2D(64 // 2, 3)",
        "keras.layers.Conv2D(n, 3 / 1)",
        "Input((np.prod(shape), size // 2))",
        "Input(shape)",
        "Dense(1, input_shape=shape)",
        "Dense(4, np.prod(shape))",
        "Dense(*sizes)",
        "class Dense:\n    pass\n\n\nDense(np.prod(shape))",
    ],
)
def test_other_arguments_stay(lines: str) -> None:
    assert migrated(lines, "TFM230") == (lines, [])


@pytest.mark.parametrize("call", ["RandomUniform(seed=42)", "RandomUniform(seed=None)", "RandomUniform(seed=chosen())"])
def test_any_other_seed_stays(call: str) -> None:
    assert migrated(f"keras.initializers.{call}", "TFM230") == (f"keras.initializers.{call}", [])
