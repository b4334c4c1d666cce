"""What is tried first, with the current form in the handler, works on every TensorFlow and stays."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated

PROGRAM = """\
import tensorflow as tf
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model


def old(x, dim):
{body}


model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
model.compile("sgd", "mse")
model.train_on_batch(x, y)
"""
LOG = """\
    try:
        return tf.log(x)
    except {kind}:
        {handled}
"""
ARGUMENT = """\
    try:
        x = tf.nn.softmax(x, dim=dim)
    except {kind}:
        {handled}
    return x
"""


@pytest.mark.parametrize(
    "body",
    [
        LOG.format(kind="AttributeError", handled="return tf.math.log(x)"),
        LOG.format(kind="(AttributeError, TypeError) as error", handled="return tf.compat.v1.log(x)"),
        "    try:\n        return tf.log(x)\n    except:\n        return tf.math.log(x)\n",
        ARGUMENT.format(kind="TypeError", handled="x = tf.nn.softmax(x, axis=dim)"),
    ],
)
def test_it_stays_as_it_is(body: str) -> None:
    file = check_migrated(PROGRAM.format(body=body))
    assert body in file.after
    assert not any(actions(file, code) for code in ("TFM204", "TFM225", "TFM501"))


@pytest.mark.parametrize(
    "body",
    [
        LOG.format(kind="TypeError", handled="return tf.math.log(x)"),  # of another error
        LOG.format(kind="AttributeError", handled="raise"),
        LOG.format(kind="AttributeError", handled="return None"),
        LOG.format(kind="AttributeError", handled="return x"),
        LOG.format(kind="AttributeError", handled="x = tf.math.log(x)"),
        LOG.format(kind="AttributeError", handled="return tf.math.log(x)") + "    else:\n        pass\n",
    ],
)
def test_it_is_rewritten_where_nothing_takes_its_place(body: str) -> None:
    after = check_migrated(PROGRAM.format(body=body)).after
    assert "        return tf.math.log(x)\n    except" in after


@pytest.mark.parametrize(
    ("kind", "handled"), [("AttributeError", "x = tf.nn.softmax(x, axis=dim)"), ("TypeError", "y = tf.nn.softmax(x)")]
)
def test_a_keyword_is_rewritten_where_nothing_takes_its_place(kind: str, handled: str) -> None:
    after = check_migrated(PROGRAM.format(body=ARGUMENT.format(kind=kind, handled=handled))).after
    assert "x = tf.nn.softmax(x, axis=dim)\n    except" in after
