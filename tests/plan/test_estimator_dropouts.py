"""Dropouts that a model function tells by the mode how much to drop, and other numbers that depend on it."""

from __future__ import annotations

import pytest

from tests.plan.test_estimator import migrated, refusal

DENSE = "    outputs = tf1.layers.dense(features, 1)\n"
TRAINS = "mode == tf.estimator.ModeKeys.TRAIN"


def network(*lines: str) -> tuple[str, str]:
    """The network, with these lines before its last layer, which takes `net`."""
    text = "".join(f"    {line}\n" for line in ("net = tf1.layers.dense(features, 8)", *lines))
    return DENSE, text + DENSE.replace("features", "net")


@pytest.mark.parametrize(
    ("lines", "dropout"),
    [
        ([f"if {TRAINS}:", "    net = tf1.nn.dropout(net, 0.6)"], "Dropout(1 - 0.6)(net)"),
        ([f"if {TRAINS}:", "    net = tf.nn.dropout(net, rate=0.4, seed=3)"], "Dropout(0.4, seed=3)(net)"),
        ([f"if {TRAINS}:", "    net = tf1.layers.dropout(net, 0.4, training=True)"], "Dropout(0.4)(net)"),
        ([f"net = tf1.nn.dropout(net, 0.6 if {TRAINS} else 1.0)"], "Dropout(1 - 0.6)(net)"),
        ([f"net = tf.nn.dropout(net, rate=0.4 if {TRAINS} else 0)"], "Dropout(0.4)(net)"),
        (["net = tf1.layers.dropout(net, 0.0 if mode != 'train' else 0.4, training=True)"], "Dropout(0.4)(net)"),
    ],
)  # fmt: skip
def test_a_dropout_that_drops_in_training_alone(lines: list[str], dropout: str) -> None:
    after = migrated(network(*lines)).after
    assert f"    net = tf.keras.layers.{dropout}\n    outputs" in after
    assert "mode" not in after.replace("model", "")


@pytest.mark.parametrize(
    "lines",
    [
        [f"keep = 0.6 if {TRAINS} else 1.0"],
        ["keep = 1.0", f"if {TRAINS}:", "    keep = 0.6"],
        [f"if {TRAINS}:", "    keep = 0.6", "else:", "    keep = 1.0"],
    ],
)
def test_a_number_that_is_told_by_the_mode(lines: list[str]) -> None:
    after = migrated(network(*lines, "net = tf1.nn.dropout(net, keep)")).after
    assert "    keep = 0.6\n    net = tf.keras.layers.Dropout(1 - keep)(net)\n" in after


def test_a_function_that_is_passed_such_a_number() -> None:
    function = "def block(x, keep, training):\n    x = tf1.nn.dropout(x, keep)\n    if training:\n"
    function += "        x = tf1.nn.dropout(x, keep_prob=0.9)\n    return tf1.layers.dense(x, 4)\n\n\ndef model_fn"
    lines = [f"keep = 0.6 if {TRAINS} else 1.0", f"net = block(net, keep, {TRAINS})"]
    after = migrated(network(*lines), ("def model_fn", function)).after
    assert "def block(x, keep):\n    x = tf.keras.layers.Dropout(1 - keep)(x)\n" in after
    assert "    x = tf.keras.layers.Dropout(1 - 0.9)(x)\n    return" in after
    assert "net = block(net, keep)" in after


@pytest.mark.parametrize(
    "lines",
    [
        ["net = tf1.nn.dropout(net, 0.6)"],
        [f"net = tf1.nn.dropout(net, 0.6 if {TRAINS} else 0.9)"],
        [f"net = tf1.layers.dropout(net, 0.4 if {TRAINS} else 0.1, training=True)"],
        [f"if {TRAINS}:", "    net = tf.nn.dropout(net, 0.6)"],
        [f"if {TRAINS}:", "    net = tf1.nn.dropout(net, 0.6, [1, 8])"],
        [f"if {TRAINS}:", "    net = tf1.nn.dropout(net, 0.6)", "else:", "    net = net * 0.6"],
        [f"if {TRAINS}:", "    net = tf1.layers.dropout(features, 0.4, training=True)"],
    ],
)
def test_other_dropouts_are_refused(lines: list[str]) -> None:
    assert refusal(network(*lines)).startswith("TFM112")


@pytest.mark.parametrize(
    "lines",
    [
        [f"scale = 1.0 if {TRAINS} else 0.5", "net = net * scale"],
        [f"scale = 1.0 if {TRAINS} else 0.5", "net *= scale"],
        ["scale = 0.5", f"if {TRAINS}:", "    scale = 1.0", "net = net * scale"],
        [f"if {TRAINS}:", "    scale, more = 1.0, 2.0", "else:", "    scale, more = 0.5, 2.0", "net = net * scale"],
        [f"units = 8 if {TRAINS} else 4", "net = tf1.layers.dense(net, units)"],
        [f"scale = 1.0 if {TRAINS} else 0.5", "enlarged = lambda x: x * scale", "net = enlarged(net)"],
    ],
)
def test_a_number_that_differs_in_evaluation_is_refused(lines: list[str]) -> None:
    assert refusal(network(*lines)).startswith("TFM112")


def test_a_number_that_is_the_same_everywhere() -> None:
    lines = [f"if {TRAINS}:", "    scale = 2.0", "else:", "    scale = 2.0", "net = net * scale"]
    assert "    scale = 2.0\n    net = net * scale\n" in migrated(network(*lines)).after


def test_a_number_that_training_alone_reads() -> None:
    after = migrated(network(f"rate = 0.1 if {TRAINS} else 0.0"), ("AdamOptimizer()", "AdamOptimizer(rate)"))
    assert after.findings
