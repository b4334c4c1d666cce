"""Outputs that lose dimensions before the loss: Keras compares labels and output in the shapes that they have."""

from __future__ import annotations

import pytest

from tests.plan.test_estimator import migrated, refusal

DENSE = "    outputs = tf1.layers.dense(features, 1)\n"
LOSS = "    loss = tf1.losses.mean_squared_error(labels, outputs)\n"
FLAT = "tf1.losses.sigmoid_cross_entropy(tf.reshape(labels, [-1]), outputs)"


def ending(value: str, layer: str = "tf1.layers.conv2d(features, 1, 2)") -> tuple[str, str]:
    return DENSE, f"    net = {layer}\n    outputs = {value}\n"


@pytest.mark.parametrize("value", ["tf.squeeze(net, [1, 2])", "tf.squeeze(net, axis=[1, 2, 3])", "tf.squeeze(net, 1)"])
def test_dimensions_that_are_named_go_in_the_model(value: str) -> None:
    after = migrated(ending(value)).after
    assert f"Lambda(lambda values: {value.replace('net', 'values')})(net)" in after
    assert "model = tf.keras.Model(features, outputs)" in after


@pytest.mark.parametrize("value", ["tf.squeeze(net, -1)", "tf.squeeze(net, [3])", "tf.squeeze(net, axis=(-1,))"])
def test_the_last_dimension_is_left_to_keras(value: str) -> None:
    assert "model = tf.keras.Model(features, net)" in migrated(ending(value)).after


@pytest.mark.parametrize(
    "layer",
    [
        "tf1.layers.conv2d(features, 1, 2)",
        "tf1.layers.conv1d(features, 1, 2)",
        "tf.contrib.layers.conv2d(features, 1, 2)",
        "tf1.layers.max_pooling2d(tf.nn.relu(tf1.layers.conv2d(features, 1, 2)), 2, 2)",
        "tf1.layers.dense(tf1.layers.conv2d(features, 8, 2), 1)",
        "tf1.layers.dense(tf.reshape(features, [-1, 4, 2]), 1)",
    ],
)
def test_dimensions_that_are_not_named_are_refused(layer: str) -> None:
    assert "dimensions are removed" in refusal(ending("tf.squeeze(net)", layer))


@pytest.mark.parametrize(
    "layer",
    [
        "tf1.layers.dense(features, 1)",
        "tf1.layers.dense(tf1.layers.flatten(tf1.layers.conv2d(features, 8, 2)), 1)",
        "tf1.layers.dense(tf.reduce_mean(tf1.layers.conv2d(features, 8, 2), [1, 2]), 1)",
    ],
)
def test_a_column_is_left_to_keras(layer: str) -> None:
    assert "model = tf.keras.Model(features, net)" in migrated(ending("tf.squeeze(net)", layer)).after
    assert "model = tf.keras.Model(features, net)" in migrated(ending("tf.reshape(net, [-1])", layer)).after


def test_one_row_of_all_pixels() -> None:
    row = ending("tf.reshape(net, [-1])")
    assert "BinaryCrossentropy" in migrated(row, (LOSS, f"    loss = {FLAT}\n")).after
    assert "is flattened" in refusal(row)
    own = FLAT.replace("tf.reshape(labels, [-1])", "labels")
    assert "is flattened" in refusal(row, (LOSS, f"    loss = {own}\n"))


def test_defaults_of_a_variable_scope_are_refused() -> None:
    line = "    tf1.get_variable_scope().set_initializer(tf1.zeros_initializer())\n"
    assert "has no place in a Keras model" in refusal((DENSE, line + DENSE))


SESSION = "session_config=tf1.ConfigProto({})"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("gpu_options=tf1.GPUOptions(visible_device_list='1')", True),
        ("device_count={'GPU': 1}", True),
        ("allow_soft_placement=True", False),
    ],
)
def test_gpus_that_a_session_was_told_of_are_reported(settings: str, said: bool) -> None:
    file = migrated(("eval_distribute=strategy", f"eval_distribute=strategy, {SESSION.format(settings)}"))
    messages = [finding.message for finding in file.findings if finding.code == "TFM014"]
    assert [message for message in messages if "`session_config=` is removed" in message] == messages
    assert len(messages) == said


@pytest.mark.parametrize(
    ("data", "said"),
    [("[[1.0], [2.0], [3.0]], [[0.5], [1.0], [1.5]]", True), ("[[1.0], [2.0]], [[0.5], [1.0]]", False)],
)
def test_a_last_batch_that_is_not_full_counts_by_its_samples(data: str, said: bool) -> None:
    own = f"def test_fn():\n    return tf.data.Dataset.from_tensor_slices(({data})).batch(2)\n\n\nstrategy ="
    call = "estimator.train(input_fn, steps=10)\n"
    file = migrated(
        ("strategy =", own), (", eval_distribute=strategy", ""), (call, f"{call}estimator.evaluate(test_fn)\n")
    )
    (message,) = [finding.message for finding in file.findings if finding.message.startswith("evaluate()")]
    assert ("now the mean of all samples" in message) == said
