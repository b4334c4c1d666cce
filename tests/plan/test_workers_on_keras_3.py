"""A program that is on a strategy over several machines already, and Keras 3, which cannot train there."""

from __future__ import annotations

import pytest

from tests.kit import migrate
from tfmigrate.settings import Settings

PROGRAM = """\
import tensorflow as tf

strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")
model.fit(dataset, epochs=2)
"""


def told(program: str, target: str | None = None) -> list[tuple[str, int]]:
    file = migrate(program, Settings(target=target))
    return [(finding.code, finding.line) for finding in file.findings]


def test_it_is_told_at_the_strategy() -> None:
    assert told(PROGRAM) == [("TFM426", 3)]


@pytest.mark.parametrize(
    "program",
    [
        'import os\n\nos.environ["TF_USE_LEGACY_KERAS"] = "1"\n' + PROGRAM,
        PROGRAM.replace("tf.keras", "tf_keras").replace("tf\n", "tf\nimport tf_keras\n", 1),
        PROGRAM.replace("experimental.MultiWorkerMirroredStrategy", "MirroredStrategy"),
        PROGRAM.replace("model.fit(dataset, epochs=2)", "strategy.run(model, args=(x,))"),
    ],
)
def test_keras_2_one_machine_and_a_loop_of_ones_own_are_not(program: str) -> None:
    assert told(program) == []


def test_a_target_with_keras_2_is_not() -> None:
    assert told(PROGRAM, target="2.15") == []
