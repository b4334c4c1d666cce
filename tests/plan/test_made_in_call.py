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
    "made", ["K.variable(0)", "x + tf.Variable(0.0, trainable=False)", "tf.Variable(x)", "tf.Variable(0.0, **more)"]
)
def test_a_variable_made_in_call_is_left_and_reported(made: str) -> None:
    lines = LAYER.format(line=f"seen = {made}")
    assert migrated(lines, "TFM428") == (lines, ["warn"])


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
        LAYER.format(line="seen = self.add_weight('seen', ())"),
        LAYER.format(line="seen = tf.Variable(0.0)").replace("def call(", "def build("),
        LAYER.format(line="seen = tf.Variable(0.0)").replace("keras.layers.Layer", "object"),
        "seen = tf.Variable(0.0)",
    ],
)
def test_others_are_not(lines: str) -> None:
    assert migrated(lines, "TFM428") == (lines, [])
