"""Estimators of Keras models, and dropouts that a model function calls, on the real TensorFlows."""

from __future__ import annotations

import pytest

from tests.kit import migrate
from tfmigrate.verify.judge.align import tolerance
from tfmigrate.verify.judge.compare import compare
from tfmigrate.verify.probe import draws

from .worlds import Worlds

DATA = """
import numpy as np
import tensorflow as tf


def input_fn():
    rng = np.random.RandomState(1)
    data = tf.data.Dataset.from_tensor_slices((rng.rand(48, 5).astype("float32"), rng.rand(48, 1).astype("float32")))
    return data.apply(tf.data.experimental.shuffle_and_repeat(48)).batch(4)

"""
KERAS = """
inputs = tf.keras.Input(shape=(5,))
net = tf.keras.layers.Dense(6, activation="relu")(inputs)
net = tf.keras.layers.BatchNormalization()(net)
net = tf.keras.layers.Dropout(0.3)(net)
outputs = tf.keras.layers.Dense(1, kernel_regularizer=tf.keras.regularizers.l2(0.01))(net)
model = tf.keras.Model(inputs, outputs)
model.compile(optimizer=OPTIMIZER, loss="mse")
strategy = tf.distribute.MirroredStrategy()
config = tf.estimator.RunConfig(train_distribute=strategy)
estimator = tf.keras.estimator.model_to_estimator(model, config=config)
estimator.train(input_fn, steps=5)
"""
DROPOUT = """
def model_fn(features, labels, mode):
    net = tf.layers.dense(features, 8)
    if mode == tf.estimator.ModeKeys.TRAIN:
        net = tf.nn.dropout(net, 0.6)
    outputs = tf.layers.dense(net, 1)
    loss = tf.losses.mean_squared_error(labels, outputs)
    train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


strategy = tf.distribute.MirroredStrategy()
config = tf.estimator.RunConfig(train_distribute=strategy)
estimator = tf.estimator.Estimator(model_fn, config=config)
estimator.train(input_fn, steps=5)
"""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize(
    "program",
    [
        DROPOUT,
        KERAS.replace("OPTIMIZER", "tf.keras.optimizers.SGD(0.05, momentum=0.9)"),
        KERAS.replace("OPTIMIZER", "tf.train.MomentumOptimizer(0.05, 0.9)"),
    ],
    ids=["nn.dropout", "optimizer of Keras", "momentum of tf.train"],
)
def test_the_migration_trains_as_the_estimator_did(program: str, worlds: Worlds) -> None:
    file = migrate(DATA + program)
    old = worlds.run(worlds.of("genuine estimator", file.before))
    new = worlds.run(worlds.of("migrated keras 3", file.after, "new.py"), old)
    found = compare(old.trace, new.trace, tolerance(0.0, len(old.trace.steps)))
    assert len(found.steps) == 5
    assert found.equivalent, found.broken
    assert found.max_relative_difference < 1e-5


def test_a_dropout_in_a_model_function_passes_on_what_it_gets() -> None:
    told: list[float] = []
    dropouts = draws.Dropouts()
    dropouts.in_model_function = told.append
    for given in ({"x": "net", "rate": 0.25}, {"x": "net", "keep_prob": 1.0}, {"x": "net", "keep_prob": 0.5}):
        assert dropouts.draw(None, given) == "net"
    assert told == [0.25, 0.5]
    assert not dropouts.asked
