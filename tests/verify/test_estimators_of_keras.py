"""Estimators of Keras models, and dropouts that a model function calls, on the real TensorFlows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kit import migrate
from tfmigrate.verify.judge.align import tolerance
from tfmigrate.verify.judge.compare import compare
from tfmigrate.verify.probe import draws
from tfmigrate.verify.run.experiment import run
from tfmigrate.verify.run.launch import Launch
from tfmigrate.verify.run.runtimes import Runtime
from tfmigrate.verify.run.world import Limits, World

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
def test_the_migration_trains_as_the_estimator_did(
    program: str, runtime_for: Callable[[str], Runtime], tmp_path: Path, launch: Launch
) -> None:
    file = migrate(DATA + program)
    for name, text in (("before", file.before), ("after", file.after)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.py").write_text(text, encoding="utf-8")
    limits = Limits(seconds=300)
    before = World("old", "genuine", runtime_for("genuine estimator"), tmp_path / "before", "train.py", replicas=2)
    old = run(before, limits, tmp_path / "old", launch=launch)
    assert old.ok, old.message
    after = World("new", "migrated", runtime_for("keras 3"), tmp_path / "after", "train.py", replicas=2)
    new = run(after, limits, tmp_path / "new", old.trace, launch=launch)
    assert new.ok, new.message
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
