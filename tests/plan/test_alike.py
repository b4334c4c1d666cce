"""Where the two arms of a choice read the same once they are edited, one of them takes its place."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated

PROGRAM = """\
import tensorflow as tf
from keras import backend as K
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, 2)
parallel.compile("sgd", "mse")
parallel.fit_generator(rows)
{lines}
"""


@pytest.mark.parametrize(
    ("lines", "after"),
    [
        ("rate = tf.log(x) if NEW else tf.math.log(x)", "rate = tf.math.log(x)"),
        ("rate = 2 * (tf.log(x) + 1 if NEW else tf.math.log(x) + 1)", "rate = 2 * (tf.math.log(x) + 1)"),
        ("if NEW:\n    rate = tf.log(x)\nelse:\n    rate = tf.math.log(x)", "rate = tf.math.log(x)"),
    ],
)
def test_one_arm_takes_the_place_of_both(lines: str, after: str) -> None:
    assert check_migrated(PROGRAM.format(lines=lines)).after.endswith(f"\n{after}\n")


@pytest.mark.parametrize(
    "lines",
    [
        "if NEW:\n    rate = tf.log(x)\n    print(1)\nelse:\n    rate = tf.math.log(x)\n    print(2)",
        "if NEW:\n    print(1)\n    rate = tf.log(x)\nelse:\n    rate = tf.math.log(x)",
        "if ask():\n    rate = tf.log(x)\nelse:\n    rate = tf.math.log(x)",
        "rate = tf.log(x) if ask() else tf.math.log(x)",
        "rate = tf.log(x) if NEW else tf.math.log(y)",
    ],
)
def test_a_choice_that_asks_or_does_more_stays(lines: str) -> None:
    after = lines.replace("tf.log", "tf.math.log")
    assert check_migrated(PROGRAM.format(lines=lines)).after.endswith(f"\n{after}\n")


def test_arms_that_nothing_edits_stay_as_they_are() -> None:
    lines = "if NEW:\n    rate = 1\nelse:\n    rate = 1"
    assert check_migrated(PROGRAM.format(lines=lines)).after.endswith(f"\n{lines}\n")
