"""Losses of the program that are given integers: Keras 2 of TensorFlow 2 leaves them integers."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated

PROGRAM = """\
import numpy as np
from keras import backend as K
from keras.datasets import mnist
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model, to_categorical


def own(y_true, y_pred):
    {body}


{made}
model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", {loss})
parallel.{trained}
"""
PAIRS = """
def pairs(n):
    rows, labels = [], []
    for i in range(n):
        rows.append(np.zeros(4))
        labels {add}
    return np.array(rows), np.array(labels)


x, y = pairs(8)
"""
BODY = "return K.square(y_true - y_pred)"
CAST = "    y_true = tf.cast(y_true, y_pred.dtype)\n    return "


def program(made: str, body: str = BODY, loss: str = "own", trained: str = "fit(x, y)") -> str:
    return PROGRAM.format(made=made, body=body, loss=loss, trained=trained)


@pytest.mark.parametrize(
    "made",
    [
        "y = np.array([0, 1, 1])",
        "y = np.zeros(8, dtype=int)",
        "y = np.zeros((8, 1), dtype=np.uint8)",
        "y = np.asarray(rows, dtype='int64')",
        "y = table.astype('int32')",
        "y = table.astype(np.int32).reshape(-1, 1)",
        "y = np.random.randint(0, 2, (8, 1))",
        "y = np.argmax(table, axis=1)",
        "labels = []\nfor i in range(8):\n    labels += [1, 0]\ny = np.array(labels)[order]",
        "labels = []\nfor i in range(8):\n    labels.append(1)\ny = np.array(labels)",
        "(x, y), (x_test, y_test) = mnist.load_data()",
        PAIRS.format(add="+= [1, 0]"),
        PAIRS.format(add=".append(0)"),
    ],
)
def test_integers_are_cast(made: str) -> None:
    file = check_migrated(program(made))
    assert CAST in file.after
    assert "rewrite" in actions(file, "TFM215")


@pytest.mark.parametrize("trained", ["train_on_batch(x, y)", "evaluate(x, y[:4])"])
def test_other_methods(trained: str) -> None:
    assert CAST in check_migrated(program("y = np.zeros(8, dtype=int)", trained=trained)).after


@pytest.mark.parametrize(
    "made",
    [
        "y = np.zeros(8)",
        "y = np.array([0.0, 1.0])",
        "y = np.array([0, 1, 0.5])",
        "y = np.array(labels)",
        "labels = []\nlabels += more\ny = np.array(labels)",
        "labels = []\nlabels.append(one)\ny = np.array(labels)",
        "labels = []\nlabels.append(1)\nlabels.extend(more)\ny = np.array(labels)",
        "y = to_categorical(np.array([0, 1]))",
        "y = np.zeros(8, dtype=int).astype('float32')",
        "y = np.zeros(8, dtype=int)\ny = y / 2",
        "(x, y), _ = mnist.load_data()\ny = to_categorical(y)",
        "(y, x), _ = mnist.load_data()",
        PAIRS.format(add=".append(i)"),
    ],
)
def test_what_is_not_seen_to_be_integers_stays(made: str) -> None:
    assert CAST not in check_migrated(program(made)).after


@pytest.mark.parametrize(
    ("body", "loss"),
    [
        ("return K.square(K.cast(y_true, 'float32') - y_pred)", "own"),
        ("y_true = K.cast(y_true, 'float32')\n    return K.square(y_true - y_pred)", "own"),
        ("return K.square(y_pred)", "own"),
        (BODY, "'mse'"),
    ],
)
def test_a_loss_that_does_not_compute_with_them_stays(body: str, loss: str) -> None:
    assert CAST not in check_migrated(program("y = np.zeros(8, dtype=int)", body, loss)).after


def test_one_that_is_a_metric_too_is_cast_once() -> None:
    file = check_migrated(program("y = np.zeros(8, dtype=int)", loss="own, metrics=[own]"))
    assert file.after.count("tf.cast(") == 1
