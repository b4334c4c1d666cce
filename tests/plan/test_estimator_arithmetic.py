"""Every optimizer and schedule of the Estimator tables takes the same steps in tf.train and in Keras."""

from __future__ import annotations

import importlib.util
import json

import pytest

from tests.forks import Python
from tfmigrate.plan.change.tf_train import OPTIMIZERS
from tfmigrate.plan.estimator.layers import SCHEDULES

PROGRAM = """
import json, sys
import numpy as np
import tensorflow as tf

GRADIENTS = np.random.RandomState(3).normal(size=(12, 5)).astype(np.float32)
START = np.linspace(-1.0, 1.0, 5).astype(np.float32)


def old(make):
    with tf.Graph().as_default():
        variable = tf.compat.v1.get_variable("w", initializer=START, use_resource=True)
        gradient = tf.compat.v1.placeholder(tf.float32, (5,))
        step = tf.compat.v1.train.get_or_create_global_step()
        train = eval(make, {"train": tf.compat.v1.train, "step": step}).apply_gradients([(gradient, variable)], step)
        with tf.compat.v1.Session() as session:
            session.run(tf.compat.v1.global_variables_initializer())
            for row in GRADIENTS:
                session.run(train, {gradient: row})
            return session.run(variable).tolist()


def new(make):
    optimizer = eval(make, {"optimizers": tf.keras.optimizers})
    variable = tf.Variable(START)
    for row in GRADIENTS:
        optimizer.apply_gradients([(tf.constant(row), variable)])
    return variable.numpy().tolist()


print(json.dumps([[old(a), new(b)] for a, b in json.loads(sys.argv[1])]))
"""

GIVEN = {
    "GradientDescentOptimizer": {"learning_rate": "0.1"},
    "MomentumOptimizer": {"learning_rate": "0.1", "momentum": "0.9", "use_nesterov": "True"},
    "AdagradOptimizer": {"learning_rate": "0.1"},
    "AdamOptimizer": {},
    "AdadeltaOptimizer": {},
    "FtrlOptimizer": {
        "learning_rate": "0.1",
        "l1_regularization_strength": "0.01",
        "l2_regularization_strength": "0.02",
    },
}
DECAYED = {
    "exponential_decay": ("0.5, step, 3, 0.5, staircase=True", "0.5, 3, 0.5, staircase=True"),
    "inverse_time_decay": ("0.5, step, 3, 0.5", "0.5, 3, 0.5"),
    "polynomial_decay": ("0.5, step, 7, 0.1, power=2.0", "0.5, 7, 0.1, power=2.0"),
    "cosine_decay": ("0.5, step, 7, alpha=0.1", "0.5, 7, alpha=0.1"),
    "piecewise_constant": ("step, [3, 6], [0.5, 0.2, 0.1]", "[3, 6], [0.5, 0.2, 0.1]"),
}


def pairs() -> list[tuple[str, str]]:
    """(old, new) expressions, written as the plan writes them."""
    found = []
    for name, given in GIVEN.items():
        row = OPTIMIZERS[name]
        settings = row.defaults | {row.renamed.get(key, key): value for key, value in given.items()}
        old = ", ".join(f"{key}={value}" for key, value in given.items())
        new = ", ".join(f"{key}={value}" for key, value in settings.items())
        found.append((f"train.{name}({old})", f"optimizers.{row.keras}({new})"))
    for name, (old, new) in DECAYED.items():
        schedule = f"optimizers.schedules.{SCHEDULES[name][0]}({new})"
        found.append((f"train.GradientDescentOptimizer(train.{name}({old}))", f"optimizers.SGD({schedule})"))
    return found


def test_every_row_of_the_tables_is_measured() -> None:
    assert GIVEN.keys() == OPTIMIZERS.keys()
    assert DECAYED.keys() == SCHEDULES.keys()


@pytest.mark.runs_tensorflow
@pytest.mark.skipif(not importlib.util.find_spec("tensorflow"), reason="the verify extra brings TensorFlow")
@pytest.mark.parametrize("keras", [3, 2], ids=["Keras 3", "Keras 2"])
def test_the_steps_are_the_same(keras: int, python: Python) -> None:
    ran = python(keras, PROGRAM, json.dumps(pairs()))
    ran.check_returncode()
    for (made, _), (old, new) in zip(pairs(), json.loads(ran.stdout.splitlines()[-1]), strict=True):
        assert new == pytest.approx(old, rel=2e-5, abs=2e-6), made
