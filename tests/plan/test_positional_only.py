"""Parameters that can only be passed by position, `def loss(true, guess, /)`, are read as all others."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, codes

PROGRAM = """\
import tensorflow as tf
from keras import backend as K
from keras.callbacks import Callback, LambdaCallback
from keras.layers import Dense, Lambda, Layer
from keras.models import Sequential
from keras.utils import multi_gpu_model

{body}

model = Sequential([Dense(1, input_shape=(4,)), *more])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", {loss})
parallel.fit(x, y)
"""


@pytest.mark.parametrize(
    ("body", "loss"),
    [
        ("def off(true, guess{slash}):\n    return K.mean(K.square(true - guess))", "off"),
        ("def off(true, guess{slash}):\n    return K.sum(true * guess) / K.sum(true)", "off"),
        ("def off(true, guess{slash}, power=2):\n    return K.mean(K.abs(true - guess) ** power)", "off"),
        ("off = lambda true, guess{slash}: K.mean(K.square(true - guess))", "off"),
        ("class Off:\n    def far(self, true, guess{slash}):\n        return K.mean(true - guess)", "Off().far"),
        (
            "def near(power{slash}):\n    def off(true, guess{slash}):\n"
            "        return K.mean(K.square(true - guess)) * power\n    return off",
            "near(2)",
        ),
        ("def off(true, guess{slash}):\n    if K.sum(true) > 0:\n        return true\n    return guess", "off"),
        ("more = [Lambda(lambda x{slash}: x if x else 1)]", "'mse'"),
        ("class Twice(Layer):\n    def call(self, x{slash}):\n        return K.in_train_phase(x, 2 * x)", "'mse'"),
        ("class Two(Layer):\n    def call(self, x{slash}, *, by=2):\n        return K.in_train_phase(x, 2)", "'mse'"),
    ],
)
def test_nothing_else_happens(body: str, loss: str) -> None:
    plain = check_migrated(PROGRAM.format(body=body.format(slash=""), loss=loss))
    by_place = check_migrated(PROGRAM.format(body=body.format(slash=", /"), loss=loss))
    assert by_place.after.replace(", /", "") == plain.after
    told = [[(finding.code, finding.action) for finding in file.findings] for file in (by_place, plain)]
    assert told[0] == told[1]


@pytest.mark.parametrize("parameters", ["batch, logs=None, /", "batch, kept, /"])
@pytest.mark.parametrize("made", ["class Shown(Callback):\n    def {}", "shown = LambdaCallback({})"])
def test_logs_that_are_passed_by_name_cannot_come_by_place(parameters: str, made: str) -> None:
    hook = f"on_train_batch_end(self, {parameters}):\n        print(batch)"
    hook = hook if "class" in made else f"on_train_batch_end=lambda {parameters}: print(batch)"
    file = check_migrated(PROGRAM.format(body=made.format(hook), loss="'mse'"))
    assert actions(file, "TFM244") == ["warn"]
    assert hook in file.after


def test_a_batch_alone_is_left_to_python() -> None:
    hook = "class Shown(Callback):\n    def on_train_batch_end(self, batch, /, logs=None):\n        print(logs)"
    assert not codes(check_migrated(PROGRAM.format(body=hook, loss="'mse'")), "warn")
