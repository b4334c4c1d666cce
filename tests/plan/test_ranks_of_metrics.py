"""Metrics that Python computes, whose shape nobody knows (TFM297)."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated

PROGRAM = """\
import numpy as np
import tensorflow as tf
from keras import backend as K
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


def share(y_true, y_pred):
    return np.mean(y_true > y_pred)


def metric(y_true, y_pred):
{body}


model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", {loss}, metrics=[{metric}])
parallel.train_on_batch(x, y)
"""
CALL = "tf.py_func(share, [y_true, y_pred], tf.float64)"
NEW = "tf.reshape(tf.compat.v1.py_func(share, [y_true, y_pred], tf.float64), [-1])"


def program(body: str, loss: str = "'mse'", metric: str = "metric") -> str:
    return PROGRAM.format(body="\n".join(f"    {line}" for line in body.splitlines()), loss=loss, metric=metric)


@pytest.mark.parametrize(
    "body",
    [
        f"return {CALL}",
        f"score = {CALL}\nreturn score",
        f"if K.ndim(y_pred) == 2:\n    return {CALL}\nreturn K.mean(y_pred)",
    ],
)
def test_what_python_computes_becomes_a_vector(body: str) -> None:
    file = check_migrated(program(body))
    assert actions(file, "TFM297") == ["rewrite"]
    assert NEW in " ".join(file.after.split()).replace("( ", "(").replace(" )", ")")


def test_a_lambda() -> None:
    file = check_migrated(program("return K.mean(y_pred)", metric=f"lambda y_true, y_pred: {CALL}"))
    assert actions(file, "TFM297") == ["rewrite"]


@pytest.mark.parametrize(
    "text",
    [
        program(f"return K.mean({CALL})"),
        program(f"score = {CALL}\nscore.set_shape([])\nreturn score"),
        program(f"return tf.ensure_shape({CALL}, [])"),
        program(f"return {CALL}", metric="'mae'"),  # nothing is compiled with it
        program("return K.mean(K.abs(y_true - y_pred))"),
    ],
)
def test_what_has_a_rank_stays(text: str) -> None:
    file = check_migrated(text)
    assert actions(file, "TFM297") == []
    assert "tf.reshape(" not in file.after
