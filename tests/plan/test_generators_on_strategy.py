"""Python generators that train a model on a strategy of the program's own (TFM402)."""

from __future__ import annotations

import pytest

from tests.kit import actions, migrate

PROGRAM = """\
import random

import tensorflow as tf
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential


def batches(rows, size):
    while True:
        start = random.randint(0, 10)
        yield rows[start:start + size], rows[start:start + size, :1]


def in_order(rows):
    while True:
        for row in rows:
            yield row[:, :4], row[:, 4:]


strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = Sequential([Dense(1, input_shape=(4,))])
    model.compile("sgd", "mse")
{call}
"""


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        ("model.fit(batches(x, 8), steps_per_epoch=4)", ["as_dataset_of(batches(x, 8))"]),
        (
            "model.fit(batches(x, 8), steps_per_epoch=4, validation_data=batches(y, 8), validation_steps=2)",
            ["as_dataset_of(batches(x, 8))", "validation_data=as_dataset_of(batches(y, 8))"],
        ),
        (
            "model.fit(batches(x, 8), steps_per_epoch=4)\nmodel.fit(batches(y, 8), steps_per_epoch=4)",
            ["as_dataset_of(batches(x, 8))", "as_dataset_of(batches(y, 8))"],
        ),
        ("model.fit(in_order(x), steps_per_epoch=4)", ["as_dataset_of(in_order(x))"]),
    ],
)
def test_what_is_reported_as_rewritten_is(call: str, parts: list[str]) -> None:
    file = migrate(PROGRAM.format(call=call))
    assert actions(file, "TFM402") == ["rewrite"] * len(parts)
    assert all(part in file.after for part in parts)
    assert file.after.count("def as_dataset") == 1
    assert migrate(file.after).after == file.after


def test_what_is_suppressed_stays() -> None:
    text = PROGRAM.format(call="model.fit(batches(x, 8), steps_per_epoch=4)  # tfmigrate: skip[TFM402]")
    assert migrate(text).after == text
