"""The function `whole_batch` that is written round losses of the whole batch, on Keras 3."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import forks

PROGRAM = """
import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)


def apart(y_true, y_pred):
    return tf.reduce_mean(tf.abs(y_pred[:4] - y_pred[4:8] + y_pred[-4:] - y_true[:4]))


x = np.random.default_rng(0).random((12, 4), "float32")
with tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]).scope():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1, kernel_initializer="ones")])
    model.compile("sgd", whole_batch(apart))
(loss,) = model.fit(tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(12), verbose=0).history["loss"]
np.testing.assert_allclose(loss, apart(x[:, :1], x.sum(1, keepdims=True)), rtol=1e-5)
"""

PERCEPTUAL = """
import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
features = tf.keras.Sequential([tf.keras.Input((8, 8, 3)), tf.keras.layers.Conv2D(2, 3)])


def perceptual(y_true, y_pred):
    return tf.reduce_mean(tf.square(features(y_true) - features(y_pred)))


x = np.random.default_rng(0).random((4, 8, 8, 3), "float32")
with tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]).scope():
    model = tf.keras.Sequential([tf.keras.Input((8, 8, 3)), tf.keras.layers.Rescaling(0.5)])
    model.compile("sgd", whole_batch(perceptual))
(loss,) = model.fit(tf.data.Dataset.from_tensor_slices((x, x)).batch(4), verbose=0).history["loss"]
np.testing.assert_allclose(loss, perceptual(x, x / 2), rtol=1e-5)
"""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", [3, 2])
def test_a_loss_that_calls_a_model_has_the_shapes_of_the_batch(python: forks.Python, keras: int) -> None:
    helper = Path(__file__).parents[2] / "tfmigrate" / "plan" / "helpers" / "whole_batch.py"
    done = python(keras, helper.read_text(encoding="utf-8") + PERCEPTUAL)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.runs_tensorflow
def test_a_loss_that_slices_the_batch_by_a_fixed_number_of_rows_has_all_rows(python: forks.Python) -> None:
    helper = Path(__file__).parents[2] / "tfmigrate" / "plan" / "helpers" / "whole_batch.py"
    done = python(3, helper.read_text(encoding="utf-8") + PROGRAM)
    assert done.returncode == 0, done.stderr[-2000:]
