"""Parts of a network of TensorFlow 1: features that are cast before the first layer, initializers with a name."""

from __future__ import annotations

import pytest

from tests.plan.test_estimator import migrated, refusal

DENSE = "    outputs = tf1.layers.dense(features, 1)\n"
LAMBDA = "tf.keras.layers.Lambda(lambda values: "


@pytest.mark.parametrize(
    ("operation", "inside"),
    [
        ("tf.cast(features, tf.float32)", "tf.cast(values, tf.float32)"),
        ("tf.expand_dims(features, -1)", "tf.expand_dims(values, -1)"),
        ("tf.transpose(features, perm=[0, 2, 1])", "tf.transpose(values, perm=[0, 2, 1])"),
        ("tf.squeeze(features, axis=1)", "tf.squeeze(values, axis=1)"),
    ],
)
def test_what_is_done_to_a_feature_is_a_layer(operation: str, inside: str) -> None:
    after = migrated((DENSE, f"    net = {operation}\n" + DENSE.replace("features", "net"))).after
    assert f"    net = {LAMBDA}{inside})(features)\n" in after
    assert "    outputs = tf.keras.layers.Dense(1)(net)\n" in after


def test_one_may_follow_another() -> None:
    cast = "tf.expand_dims(tf.cast(features, tf.float32), 1)"
    after = migrated((DENSE, DENSE.replace("features", cast))).after
    inner = f"{LAMBDA}tf.cast(values, tf.float32))(features)"
    assert f"tf.keras.layers.Dense(1)({LAMBDA}tf.expand_dims(values, 1))({inner}))" in after.replace("\n", "").replace(
        "            ", ""
    ).replace("        )", ")")


def test_a_feature_that_is_chosen_by_its_name_too() -> None:
    rows = ("([[1.0], [2.0]], ", '({"x": [[1], [2]]}, ')
    cast = DENSE.replace("features", 'tf.cast(features["x"], tf.float32)')
    assert f'{LAMBDA}tf.cast(values, tf.float32))(features["x"])' in migrated(rows, (DENSE, cast)).after


@pytest.mark.parametrize(
    "lines",
    [
        DENSE + "    outputs = tf1.layers.dense(tf.cast(outputs, tf.float32), 1)\n",
        DENSE.replace("features", "tf.image.adjust_contrast(features, 2.0)"),
        DENSE.replace("features", "tf.transpose(features, labels)"),
    ],
)
def test_other_operations_are_refused(lines: str) -> None:
    assert refusal((DENSE, lines)).startswith("TFM112")


def test_each_layer_has_an_initializer_of_its_own() -> None:
    layer = DENSE.replace(", 1)", ", 1, kernel_initializer=init)")
    layers = layer.replace("outputs", "hidden") + layer.replace("features", "hidden")
    made = "    init = tf.contrib.layers.xavier_initializer(seed=seed)\n"
    after = migrated((DENSE, made + layers)).after
    assert after.count("kernel_initializer=tf.keras.initializers.GlorotUniform(seed=seed)") == 2
    assert "init =" not in after


def test_an_initializer_that_is_passed_on_is_refused() -> None:
    part = "def part(x, init):\n    return tf1.layers.dense(x, 1, kernel_initializer=init)\n\n\ndef model_fn"
    called = "    outputs = part(features, tf.contrib.layers.xavier_initializer())\n"
    assert refusal((DENSE, called), ("def model_fn", part)).startswith("TFM112")


def test_the_names_of_records_are_those_that_are_reported() -> None:
    parse = "spec = {'x': tf.FixedLenFeature([], tf.string)}\nprint(spec)\nstrategy = "
    file = migrated(("strategy = ", parse))
    assert "spec = {'x': tf.io.FixedLenFeature([], tf.string)}\n" in file.after


OWN = """class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.last = tf.keras.layers.Dense(1)
        {more}

    def call(self, x, training=None):
        return self.last(x)


def model_fn"""
CALLED = "    outputs = Net()(features, training=mode == tf.estimator.ModeKeys.TRAIN)\n"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("self.drop = tf.keras.layers.Dropout(0.5)", False),
        ("self.norm = tf.keras.layers.BatchNormalization()", True),
        ("self.base = tf.keras.models.load_model('base.h5')", True),
        ("self.base = tf.keras.applications.ResNet50()", True),
    ],
)
def test_moving_averages_are_mentioned_where_there_may_be_some(more: str, told: bool) -> None:
    file = migrated((DENSE, CALLED), ("def model_fn", OWN.format(more=more)))
    assert "    outputs = Net()(features)\n" in file.after
    assert any("moving averages" in finding.message for finding in file.findings) == told


@pytest.mark.parametrize("more", ["self.base = tf.keras.models.load_model('base.h5')", "self.other = 1"])
def test_a_model_of_the_program_that_asks_for_training_is_told_it(more: str) -> None:
    called = CALLED.replace(", training=mode == tf.estimator.ModeKeys.TRAIN", "")
    assert refusal((DENSE, called), ("def model_fn", OWN.format(more=more))).startswith("TFM112")


@pytest.mark.parametrize(
    "operation",
    [
        "tf.nn.leaky_relu(net)",
        "tf.nn.leaky_relu(net, alpha=0.1)",
        "tf.nn.swish(net)",
        "tf.pad(net, [[0, 0], [1, 1]])",
        "tf.nn.max_pool(net, [1, 2, 2, 1], [1, 2, 2, 1], 'SAME')",
        "tf.nn.avg_pool(net, sizes, strides=sizes, padding='SAME')",
    ],
)
def test_an_operation_between_layers_is_one(operation: str) -> None:
    layers = f"    net = tf1.layers.dense(features, 4)\n    net = {operation}\n" + DENSE.replace("features", "net")
    assert f"    net = {LAMBDA}{operation.replace('net', 'values')})(net)\n" in migrated((DENSE, layers)).after


@pytest.mark.parametrize(
    "lines",
    [
        "    for size in 1, 2:\n        net = tf.pad(net, [[0, 0], [0, size]])\n",
        "    size = 1\n    net = tf.pad(net, [[0, 0], [0, size]])\n    size = 2\n    print(size)\n",
        "    net = tf.pad(net, [[0, 0], [1, 1]], 'CONSTANT', None)\n",
        "    net = tf.pad(tensor=net, paddings=[[0, 0], [1, 1]])\n",
        "    net = tf.nn.lrn(net)\n",
    ],
)
def test_an_operation_that_a_lambda_would_do_otherwise_is_refused(lines: str) -> None:
    layers = f"    net = tf1.layers.dense(features, 4)\n{lines}" + DENSE.replace("features", "net")
    assert refusal((DENSE, layers)).startswith("TFM112")


def test_a_variable_that_keeps_its_value_may_be_read() -> None:
    lines = "    size = 1\n    net = tf.pad(features, [[0, 0], [0, size]])\n" + DENSE.replace("features", "net")
    assert f"{LAMBDA}tf.pad(values, [[0, 0], [0, size]]))(features)" in migrated((DENSE, lines)).after


@pytest.mark.parametrize(
    ("layer", "keras"),
    [
        ("conv2d_transpose(features, 4, 3, 2)", "Conv2DTranspose(4, 3, strides=2)"),
        ("conv3d(features, 4, 3, (1, 1, 2))", "Conv3D(4, 3, strides=(1, 1, 2))"),
        ("average_pooling1d(features, 2, 1)", "AveragePooling1D(2, 1)"),
        ("max_pooling3d(features, 2, 1)", "MaxPooling3D(2, 1)"),
        ("average_pooling3d(features, 2, 1)", "AveragePooling3D(2, 1)"),
        ("dense(features, 4, tf.nn.leaky_relu)", "Dense(4, activation=tf.nn.leaky_relu)"),
    ],
)
def test_more_layers_are_those_of_keras(layer: str, keras: str) -> None:
    after = migrated((DENSE, f"    features = tf1.layers.{layer}\n" + DENSE)).after
    assert f"    features = tf.keras.layers.{keras}(features)\n" in after


SUMMARY = "tf1.summary.histogram('features', features)"


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        (f"    if big:\n        {SUMMARY}\n", ""),
        (f"    if big:\n        {SUMMARY}\n    else:\n        {SUMMARY}\n", ""),
        (f"    if big:\n        print(big)\n    else:\n        {SUMMARY}\n", "    if big:\n        print(big)\n"),
        (f"    for place in range(3):\n        {SUMMARY}\n", ""),
        ("    if big:\n        pass\n", "    if big:\n        pass\n"),
        (f"    if ask():\n        {SUMMARY}\n", "    if ask():\n        pass\n"),
        (f"    for place in read():\n        {SUMMARY}\n", "    for place in read():\n        pass\n"),
    ],
)
def test_a_block_of_which_nothing_is_left_goes(lines: str, left: str) -> None:
    after = migrated(("    outputs", lines + "    outputs")).after
    assert f"dtype=features.dtype)\n{left}    outputs" in after
