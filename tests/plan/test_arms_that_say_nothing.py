"""`model = model` in the arm of a guard that did not wrap."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated, check_refused

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


@pytest.mark.parametrize("caught", ["except ImportError", "except (KeyError, AttributeError) as error"])
def test_a_fallback_for_another_error_does_not_ask_for_devices(caught: str) -> None:
    guard = f"try:\n    {WRAP}\n{caught}:\n    print('no such function')"
    after = check_migrated(PROGRAM.format(guard=guard)).after
    assert "list_physical_devices" not in after
    assert "try:" not in after
    assert after.count("with strategy.scope():") == 1


@pytest.mark.parametrize("caught", ["except KeyError", "except LookupError", "except (ValueError, KeyError)", "except"])
def test_what_a_try_handles_is_not_moved_out_of_it(caught: str) -> None:
    """`os.environ[...]` above it would stop the program, where the old one trained on one GPU."""
    count = "gpus = len(os.environ['GPUS'].split(','))"
    guard = f"try:\n    {count}\n    {WRAP}\n{caught}:\n    print('one')"
    text = (
        PROGRAM.format(guard=guard)
        .replace("import sys", "import os\nimport sys")
        .replace("gpus = int(sys.argv[1])\n", "")
    )
    (finding,) = [one for one in check_refused(text, "TFM103").findings if one.code == "TFM103"]
    assert "which handles a failure" in finding.message
