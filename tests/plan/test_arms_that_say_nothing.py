"""`model = model` in the arm of a guard that did not wrap."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated

PROGRAM = """
import sys

import tensorflow as tf

gpus = int(sys.argv[1])
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
{guard}
model.compile("sgd", "mse")
model.train_on_batch(x, y)
"""
WRAP = "model = tf.keras.utils.multi_gpu_model(model, gpus=gpus)"


def test_a_condition_of_which_nothing_is_left_goes() -> None:
    file = check_migrated(PROGRAM.format(guard=f"if gpus > 1:\n    {WRAP}\nelse:\n    model = model"))
    assert "model = model" not in file.after
    assert file.after.count("if gpus > 1") == 1


@pytest.mark.parametrize("caught", ["except ValueError", "except"])
def test_a_fallback_that_only_talks_asks_the_strategy(caught: str) -> None:
    guard = f"try:\n    {WRAP}\n    print('several')\n{caught}:\n    model = model\n    print('one')"
    file = check_migrated(PROGRAM.format(guard=guard))
    asked = "if strategy.num_replicas_in_sync > 1:\n    print('several')\nelse:\n    print('one')\n"
    assert asked in file.after


@pytest.mark.parametrize(
    ("left", "guard"),
    [
        ("model = other(model)", f"if gpus > 1:\n    {WRAP}\nelse:\n    model = other(model)"),
        ("if gpus > 4:\n    model = model", f"if gpus > 1:\n    {WRAP}\nif gpus > 4:\n    model = model"),
        ("model = model", f"if gpus > 1:\n    {WRAP}\nelif gpus < 0:\n    model = model\nelse:\n    print('one')"),
    ],
)
def test_other_lines_stay(left: str, guard: str) -> None:
    file = check_migrated(PROGRAM.format(guard=guard).replace("gpus = int", "from elsewhere import other\ngpus = int"))
    assert left in file.after
