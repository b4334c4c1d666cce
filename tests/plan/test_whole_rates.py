"""TFM230: learning rates and momenta that are no floats of Python."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated

PROGRAM = """
import numpy as np
from keras.layers import Dense
from keras.models import Sequential
from keras.optimizers import SGD, Adam
from keras.utils import multi_gpu_model

RATE = 1
HALF = 0.5


def made(rate=2):
    return Adam(rate)


model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile({optimizer}, "mse")
parallel_model.train_on_batch(x, y)
"""


@pytest.mark.parametrize(
    ("optimizer", "after"),
    [
        ("SGD(lr=20)", "SGD(learning_rate=20.0)"),
        ("SGD(1_0)", "SGD(float(1_0))"),
        ("SGD(0.1, 0)", "SGD(0.1, 0.0)"),
        ("SGD(lr=0.1, momentum=1)", "SGD(learning_rate=0.1, momentum=1.0)"),
        ("Adam(RATE)", "Adam(float(RATE))"),
        ("Adam(learning_rate=np.float32(0.1))", "Adam(learning_rate=float(np.float32(0.1)))"),
    ],
)
def test_a_whole_number_becomes_a_float(optimizer: str, after: str) -> None:
    assert f"compile({after}, " in check_migrated(PROGRAM.format(optimizer=optimizer)).after


def test_so_does_one_that_callers_leave_to_a_default() -> None:
    assert "return Adam(float(rate))" in check_migrated(PROGRAM.format(optimizer="made()")).after


@pytest.mark.parametrize("optimizer", ["SGD(0.1, 0.9)", "Adam(HALF)", "Adam(rate)", "Adam(np.exp(-1))", "Adam(0.1, 0)"])
def test_other_rates_stay(optimizer: str) -> None:
    assert f"compile({optimizer}, " in check_migrated(PROGRAM.format(optimizer=optimizer)).after
