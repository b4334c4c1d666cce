"""Variables that a layer makes in its call (TFM428)."""

from __future__ import annotations

import pytest

from tests.plan.whole import migrated

LAYER = "class Count(keras.layers.Layer):\n    def call(self, x):\n        {line}\n        return x"


@pytest.mark.parametrize(
    ("made", "start"),
    [
        ("tf.Variable(0.0)", "0.0, "),
        ("tf.Variable(-1, trainable=True, dtype=tf.float32)", "-1, dtype=tf.float32, "),
        ("tf.Variable(initial_value=3, name='seen')", "initial_value=3, name='seen', "),
    ],
)
def test_a_counter_is_made_once(made: str, start: str) -> None:
    text, done = migrated(LAYER.format(line=f"seen = {made}"), "TFM428")
    how = "synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA"
    assert f"seen = made_once(self, '_seen', lambda: tf.Variable({start}trainable=False, {how}))" in text.replace(
        '"', "'"
    )
    assert done == ["rewrite"]


@pytest.mark.parametrize(
    "made",
    [
        "K.variable(0, constraint=more)",
        "K.variable(np.random.rand(3))",
        "x + tf.Variable(0.0, trainable=False)",
        "tf.Variable(x)",
        "tf.Variable(0.0, **more)",
    ],
)
def test_a_variable_made_in_call_is_left_and_reported(made: str) -> None:
    lines = LAYER.format(line=f"seen = {made}")
    assert migrated(lines, "TFM428") == (lines, ["warn"])


@pytest.mark.parametrize(
    "line",
    [
        "x = x + K.variable({})",
        "x = K.expand_dims(K.variable(rows, {}), 0) * x",
        "rows = K.variable(value={}, dtype='float32'); x = x - rows[0]".replace("; ", "\n        "),
        "rows = K.variable({}); x = tf.concat([x, rows], -1)".replace("; ", "\n        "),
    ],
)
def test_a_variable_that_is_only_read_is_a_constant(line: str) -> None:
    line = line.format("np.ones(3)" if "rows, " not in line else "'float32'")
    text, done = migrated(LAYER.format(line=line), "TFM428")
    assert text == LAYER.format(line=line.replace("K.variable", "K.constant"))
    assert done == ["rewrite"]


@pytest.mark.parametrize(
    "line",
    [
        "x = K.update_add(K.variable(0.0), x)",
        "seen = K.variable(0.0); K.update(seen, x)",
        "seen = K.variable(0.0); seen.assign_add(1.0)",
        "seen = K.variable(0.0); self.seen = seen",
        "seen = K.variable(0.0); seen = seen + x",
        "seen = self.seen = K.variable(0.0)",
        "self.seen = K.variable(0.0)",
        "x = self.shifted(x, K.variable(0.0))",
        "x = K.gradients(x, K.variable(0.0))",
        "return K.variable(0.0)",
    ],
)
def test_a_variable_that_may_be_set_is_not(line: str) -> None:
    lines = LAYER.format(line=line.replace("; ", "\n        "))
    text, done = migrated(lines, "TFM428")
    assert "K.variable(0.0)" in text
    assert done == ["warn"]


def test_so_is_that_of_a_base_class_and_of_a_model() -> None:
    lines = LAYER.format(line="seen = tf.Variable(x)") + "\n\n\nclass More(Count):\n    pass"
    assert migrated(lines, "TFM428") == (lines, ["warn"])
    old = f"from keras.engine.topology import Layer\n\n\n{lines.replace('keras.layers.Layer', 'Layer')}"
    assert migrated(old, "TFM428")[1] == ["warn"]
    lines = lines.replace("keras.layers.Layer", "Model")
    assert migrated(lines, "TFM428") == (lines, ["warn"])


@pytest.mark.parametrize(
    "lines",
    [
        LAYER.format(line="self.seen = self.seen or 0"),
        LAYER.format(line="if self.seen is None:\n            self.seen = tf.Variable(0.0)"),
        LAYER.format(line="seen = tf.constant(0.0)"),
        LAYER.format(line="seen = self.add_weight(name='seen', shape=())"),
        LAYER.format(line="seen = tf.Variable(0.0)").replace("def call(", "def build("),
        LAYER.format(line="seen = tf.Variable(0.0)").replace("keras.layers.Layer", "object"),
        "seen = tf.Variable(0.0)",
    ],
)
def test_others_are_not(lines: str) -> None:
    assert migrated(lines, "TFM428") == (lines, [])


LOSS = "{before}def loss(t, p):\n    {line}\n    return K.mean(K.abs(net(t) - net(p)), axis=-1)\n\n\n"
COMPILED = "parallel.compile('sgd', {loss})\nparallel.fit(batches)"
VGG = "keras.applications.vgg16.VGG16(include_top=False)"


@pytest.mark.parametrize(
    ("before", "line", "loss", "told"),
    [
        ("", f"net = {VGG}", "loss", 1),
        ("", "net = keras.models.load_model('net.h5')", "[loss]", 1),
        ("", "net = Sequential([Dense(1), Dense(2)])", "loss", 3),
        ("", f"net = {VGG}", "lambda t, p: loss(t, p)", 1),
        (f"def build():\n    return {VGG}\n\n\n", "net = build()", "loss", 1),
        ("", "self.scale = K.variable(2.0)", "loss", 1),
    ],
)
def test_a_model_that_a_loss_builds_is_reported(before: str, line: str, loss: str, told: int) -> None:
    lines = LOSS.format(before=before, line=line) + COMPILED.format(loss=loss)
    assert migrated(lines, "TFM428")[1] == ["warn"] * told


def test_a_variable_that_a_loss_only_reads_is_a_constant() -> None:
    line = "return K.mean(K.abs(t - p) * K.{}([1.0, 2.0]), axis=-1)"
    lines = LOSS.replace("{before}", "").replace("net(t) - net(p)", "t - p") + "parallel_model.compile('sgd', loss)"
    text, done = migrated(lines.format(line=line.format("variable")), "TFM428")
    assert lines.format(line=line.format("constant")).partition("parallel_model")[0] in text
    assert done == ["rewrite"]


@pytest.mark.parametrize(
    ("before", "line", "loss"),
    [
        (f"net = {VGG}\n", "scale = 2", "loss"),
        (f"net = {VGG}\n", "net = Model(net.input, net.layers[3].output)", "loss"),
        ("net = None\n", f"global net\n    if net is None:\n        net = {VGG}", "loss"),
        (f"@lru_cache()\ndef build():\n    return {VGG}\n\n\n", "net = build()", "loss"),
        ("", f"net = {VGG}", "'mse'"),
        ("", "flat = keras.layers.Flatten()(t)", "loss"),
    ],
)
def test_a_model_that_is_built_outside_of_the_loss_is_not(before: str, line: str, loss: str) -> None:
    lines = LOSS.format(before=before, line=line) + COMPILED.format(loss=loss)
    assert migrated(lines, "TFM428")[1] == []


def test_a_model_in_the_function_round_a_loss_is_built_once() -> None:
    inner = "    def loss(t, p):\n        return K.abs(net(t) - net(p))\n\n    return loss\n"
    lines = f"def make():\n    net = {VGG}\n\n{inner}\n\n"
    assert migrated(lines + COMPILED.format(loss="make()"), "TFM428")[1] == []


@pytest.mark.parametrize(
    "lines",
    [
        "layer = keras.layers.Lambda(lambda x: x * K.{}(scales))",
        "def scaled(x):\n    scale = K.{}(scales)\n    return scale * x\n\n\nlayer = keras.layers.Lambda(scaled)",
        "layer = keras.layers.Lambda(function=lambda x: K.concatenate([x, K.{}(scales)]))",
    ],
)
def test_a_variable_in_the_function_of_a_lambda_is_a_constant(lines: str) -> None:
    assert migrated(lines.format("variable"), "TFM428") == (lines.format("constant"), ["rewrite"])


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("layer = keras.layers.Lambda(lambda x: x * tf.Variable(2.0))", 1),
        ("layer = keras.layers.Lambda(lambda x: K.update_add(K.variable(0.0), x))", 1),
        ("scale = K.variable(2.0)\nlayer = keras.layers.Lambda(lambda x: x * scale)", 0),
        ("scaled = lambda x: x * K.variable(2.0)", 0),
    ],
)
def test_another_variable_of_a_lambda_is_reported(lines: str, told: int) -> None:
    assert migrated(lines, "TFM428") == (lines, ["warn"] * told)
