"""Layers of tf.contrib.layers and tf.contrib.slim."""

from __future__ import annotations

import pytest

from tests.plan.test_estimator import migrated, refusal

DENSE = "    outputs = tf1.layers.dense(features, 1)\n"
TRAINING = "mode == tf.estimator.ModeKeys.TRAIN"


def with_layer(layer: str) -> tuple[str, str]:
    return DENSE, f"    net = {layer}\n" + DENSE.replace("features", "net")


def on_one_line(layer: str) -> str:
    text = " ".join(migrated(with_layer(layer)).after.split())
    return text.replace("( ", "(").replace(" )", ")").replace('"', "'")


@pytest.mark.parametrize("home", ["tf.contrib.layers", "tf.contrib.slim"])
@pytest.mark.parametrize(
    ("layer", "keras"),
    [
        ("fully_connected(features, 8)", "Dense(8, activation='relu')"),
        ("fully_connected(inputs=features, num_outputs=8, activation_fn=None)", "Dense(8)"),
        ("fully_connected(features, 8, tf.nn.tanh, scope='fc')", "Dense(8, activation='tanh', name='fc')"),
        ("fully_connected(features, 8, tf.nn.leaky_relu, trainable=False)",
         "Dense(8, activation=tf.nn.leaky_relu, trainable=False)"),
        ("fully_connected(features, 8, biases_initializer=None)", "Dense(8, use_bias=False, activation='relu')"),
        ("fully_connected(features, 8, weights_initializer=tf.random_normal_initializer(stddev=0.1))",
         "Dense(8, kernel_initializer=tf.keras.initializers.RandomNormal(stddev=0.1), activation='relu')"),
        ("fully_connected(features, 8, None, None)", "Dense(8)"),
        ("conv2d(features, 8, [3, 3])", "Conv2D(8, [3, 3], padding='same', activation='relu')"),
        ("conv2d(features, 8, 3, 2, 'VALID', 'NCHW', activation_fn=None)",
         "Conv2D(8, 3, strides=2, padding='valid', data_format='channels_first')"),
        ("conv2d(features, 8, 3, rate=2)", "Conv2D(8, 3, dilation_rate=2, padding='same', activation='relu')"),
        ("max_pool2d(features, [2, 2])", "MaxPooling2D([2, 2], strides=2)"),
        ("avg_pool2d(features, 3, stride=1, padding='SAME')", "AveragePooling2D(3, strides=1, padding='same')"),
        ("flatten(features)", "Flatten()"),
        (f"dropout(features, 0.8, is_training={TRAINING})", "Dropout(1 - 0.8)"),
        (f"dropout(features, is_training={TRAINING}, seed=3)", "Dropout(0.5, seed=3)"),
        (f"batch_norm(features, is_training={TRAINING})", "BatchNormalization(momentum=0.999, scale=False)"),
        (f"batch_norm(features, 0.9, scale=True, is_training={TRAINING}, fused=True)",
         "BatchNormalization(momentum=0.9, scale=True)"),
    ],
)  # fmt: skip
def test_a_layer_is_that_of_keras(home: str, layer: str, keras: str) -> None:
    after = on_one_line(f"{home}.{layer}")
    assert f"net = tf.keras.layers.{keras}(features) outputs" in after


def test_the_activation_of_a_batch_normalization_follows_it() -> None:
    layer = f"tf.contrib.layers.batch_norm(features, activation_fn=tf.nn.relu, is_training={TRAINING})"
    after = on_one_line(layer)
    norm = "tf.keras.layers.BatchNormalization(momentum=0.999, scale=False)(features)"
    assert f"tf.keras.layers.Activation('relu')({norm})" in after


@pytest.mark.parametrize(("updates", "told"), [("", True), (", updates_collections=None", False)])
def test_moving_averages_that_were_never_updated_are_told(updates: str, told: bool) -> None:
    file = migrated(with_layer(f"tf.contrib.layers.batch_norm(features, is_training={TRAINING}{updates})"))
    assert any("moving averages" in finding.message for finding in file.findings) is told


def test_a_dropout_that_never_drops_goes() -> None:
    after = migrated(with_layer("tf.contrib.slim.dropout(features, 0.5, is_training=False)")).after
    assert "    net = features\n" in after


@pytest.mark.parametrize(
    ("layer", "why"),
    [
        ("dropout(features, 0.5)", "is in training mode even in evaluation"),
        ("dropout(features, 0.5, is_training=True)", "something other than mode == TRAIN"),
        ("batch_norm(features)", "is in training mode even in evaluation"),
        ("batch_norm(features, is_training=False)", "not put in training mode"),
        (f"batch_norm(features, is_training={TRAINING}, renorm=True)", "Keras has no `renorm=`"),
        ("fully_connected(features, 8, normalizer_fn=tf.contrib.layers.batch_norm)", "Keras has no `normalizer_fn=`"),
        ("fully_connected(features, 8, reuse=True)", "Keras has no `reuse=`"),
        ("fully_connected(features, 8, activation_fn=tf.nn.crelu)", "not a Keras activation"),
        ("conv2d(features, 8, 3, data_format=order)", "not a literal"),
        ("separable_conv2d(features, 8, 3, 1)", "no known counterpart"),
        ("fully_connected(labels, 8)", "not the output of a layer"),
    ],
)
def test_other_layers_are_refused(layer: str, why: str) -> None:
    assert why in refusal(with_layer(f"tf.contrib.layers.{layer}"))


def test_defaults_that_a_scope_sets_are_refused() -> None:
    lines = "    with tf.contrib.slim.arg_scope([tf.contrib.slim.conv2d], stride=2):\n        net = features\n" + DENSE
    assert "no counterpart in a Keras model" in refusal((DENSE, lines))
