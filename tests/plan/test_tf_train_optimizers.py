"""Optimizers of tf.train that compile() is given (TFM289)."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, migrate

PROGRAM = """\
import tensorflow as tf
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

rate = 0.1
{before}
model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile(loss="mse", optimizer={optimizer})
"""


@pytest.mark.parametrize(
    ("optimizer", "after"),
    [
        ("tf.train.GradientDescentOptimizer(0.1)", "SGD(0.1)"),
        ("tf.train.MomentumOptimizer(rate, 0.9)", "SGD(rate, 0.9)"),
        ("tf.train.MomentumOptimizer(rate, momentum=0.9, use_nesterov=True)", "SGD(rate, momentum=0.9, nesterov=True)"),
        ("tf.train.MomentumOptimizer(rate, 0.9, False, 'm', True)", "SGD(rate, 0.9, nesterov=True)"),
        ("tf.train.AdamOptimizer()", "Adam(epsilon=1e-8)"),
        ("tf.train.AdamOptimizer(learning_rate=rate)", "Adam(learning_rate=rate, epsilon=1e-8)"),
        ("tf.train.AdamOptimizer(rate, 0.8, 0.9, 1e-5, True, 'a')", "Adam(rate, 0.8, 0.9, 1e-5)"),
        ("tf.train.AdamOptimizer(beta1=0.5, beta2=0.9)", "Adam(beta_1=0.5, beta_2=0.9, epsilon=1e-8)"),
        ("tf.compat.v1.train.AdagradOptimizer(0.1, name='a')", "Adagrad(0.1, epsilon=1e-8)"),
        ("tf.train.AdadeltaOptimizer(1.0, 0.9, 1e-6)", "Adadelta(1.0, 0.9, 1e-6)"),
        ("tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.1)", "Ftrl(0.1, l1_regularization_strength=0.1)"),
    ],
)
def test_the_optimizer_of_keras_that_takes_the_same_steps_is_written(optimizer: str, after: str) -> None:
    file = check_migrated(PROGRAM.format(before="", optimizer=optimizer))
    assert f"optimizer=tf.keras.optimizers.{after})\n" in file.after
    assert actions(file, "TFM289") == ["rewrite"]
    assert not actions(file, "TFM501")


@pytest.mark.parametrize(
    "before",
    [
        "made = tf.train.AdamOptimizer(rate)",
        "def make(value):\n    return tf.train.AdamOptimizer(value)\n\n\nmade = make(rate)",
        "made = tf.train.AdamOptimizer(rate) if rate else 'sgd'",
    ],
)
def test_it_is_found_where_it_is_made(before: str) -> None:
    file = check_migrated(PROGRAM.format(before=before, optimizer="made"))
    assert "tf.keras.optimizers.Adam(" in file.after
    assert "tf.train" not in file.after


def test_it_is_found_in_another_module() -> None:
    text = PROGRAM.format(before="from parts import make", optimizer="make()")
    parts = "import tensorflow as tf\n\n\ndef make():\n    return tf.train.AdamOptimizer(0.1)\n"
    assert not actions(migrate(text, parts=parts), "TFM501")


@pytest.mark.parametrize(
    ("before", "optimizer", "said"),
    [
        ("", "tf.train.RMSPropOptimizer(0.1)", "starts its mean of squares at 1"),
        ("", "tf.compat.v1.train.RMSPropOptimizer(0.1)", "starts its mean of squares at 1"),
        ("", "tf.train.ProximalAdagradOptimizer(0.1)", "pass a Keras optimizer"),
        ("", "tf.train.AdamOptimizer(*rates)", "cannot be read"),
        ("", "tf.train.AdamOptimizer(beta3=1)", "cannot be read"),
        ("falling = tf.train.exponential_decay(0.1, 0, 10, 0.5)", "tf.train.AdamOptimizer(falling)", "a schedule"),
        ("made = tf.train.AdamOptimizer(rate)\nstep = made.minimize(loss)", "made", "something else also reads it"),
    ],
)
def test_what_has_no_equal_is_reported(before: str, optimizer: str, said: str) -> None:
    file = check_migrated(PROGRAM.format(before=before, optimizer=optimizer))
    messages = [finding.message for finding in file.findings if finding.code == "TFM289"]
    assert len(messages) == 1
    assert said in messages[0]
    assert actions(file, "TFM289") == ["warn"]


@pytest.mark.parametrize(
    ("before", "optimizer"),
    [
        ("made = tf.train.AdamOptimizer(rate)\nstep = made.minimize(loss)", "'sgd'"),
        ("from own import AdamOptimizer", "AdamOptimizer(rate)"),
        ("train = tf.train", "tf.keras.optimizers.Adam(rate)"),
        ("coordinator = tf.train.Coordinator()", "'adam'"),
    ],
)
def test_what_no_compile_is_given_stays(before: str, optimizer: str) -> None:
    file = check_migrated(PROGRAM.format(before=before, optimizer=optimizer))
    assert not actions(file, "TFM289")


WRAPPED = "from keras.optimizers import TFOptimizer\n"


@pytest.mark.parametrize(
    ("before", "optimizer", "after"),
    [
        ("", "TFOptimizer(tf.train.GradientDescentOptimizer(0.1))", "optimizer=tf.keras.optimizers.SGD(0.1))"),
        ("own = tf.train.AdamOptimizer(0.1, epsilon=1e-8)\n", "TFOptimizer(optimizer=own)", "optimizer=own)"),
        ("own = TFOptimizer(tf.train.MomentumOptimizer(1, 0.9))\n", "own", "own = tf.keras.optimizers.SGD(1, 0.9)\n"),
    ],
)
def test_one_that_is_wrapped_for_keras_is_unwrapped(before: str, optimizer: str, after: str) -> None:
    file = check_migrated(PROGRAM.format(before=WRAPPED + before, optimizer=optimizer))
    assert after in file.after
    assert "TFOptimizer" not in file.after
    assert actions(file, "TFM289") == ["rewrite", "rewrite"]
    assert "TFM501" not in [finding.code for finding in file.findings]


@pytest.mark.parametrize(
    ("before", "optimizer"),
    [
        ("", "TFOptimizer(tf.train.RMSPropOptimizer(0.1))"),
        ("", "TFOptimizer(chosen())"),
        ("own = TFOptimizer(tf.train.AdamOptimizer(0.1))\nown.optimizer.minimize(loss)\n", "own"),
    ],
)
def test_a_wrapped_one_that_keras_has_not_stays(before: str, optimizer: str) -> None:
    file = migrate(PROGRAM.format(before=WRAPPED + before, optimizer=optimizer))
    assert "TFOptimizer(" in file.after
    assert "warn" in [finding.action for finding in file.findings]
