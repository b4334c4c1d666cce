"""A callback that writes into the arrays of its fit() is reported; one that reads them, or writes elsewhere, is not."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated

PROGRAM = """\
import numpy as np
from keras.callbacks import Callback
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


class Changes(Callback):
    def __init__(self, x, other=None):
        super().__init__()
        self.x, self.other, self.first = x, other, x.copy()

    def {method}(self, epoch, logs=None):
        {statement}


x, y = np.random.rand(32, 4), np.random.rand(32, 1)
model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile('sgd', 'mse')
parallel_model.fit({arrays}, batch_size=8, callbacks={callbacks})
"""
USUAL = {
    "method": "on_epoch_begin",
    "statement": "self.x[:] = self.first * epoch",
    "arrays": "x, y",
    "callbacks": "[Changes(x)]",
}


def of(**changes: str) -> str:
    return PROGRAM.format(**USUAL | changes)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"method": "on_epoch_end"},
        {"method": "on_batch_end"},
        {"statement": "self.x[0] += 1"},
        {"statement": "self.x *= 2"},
        {"statement": "self.x.fill(epoch)"},
        {"statement": "np.copyto(self.x, self.first)"},
        {"statement": "np.random.shuffle(self.x)"},
        {"statement": "for i in range(32):\n            self.x[i, 1:] = 0"},
        {"statement": "self.other[:] = 0", "callbacks": "[Changes(x, other=y)]"},
        {"callbacks": "Changes(x)"},
    ],
)
def test_it_is_told(changes: dict[str, str]) -> None:
    assert actions(check_migrated(of(**changes)), "TFM448") == ["warn"]


@pytest.mark.parametrize(
    "changes",
    [
        {"method": "prepare"},
        {"statement": "print(self.x[0])"},
        {"statement": "self.x = self.first * epoch"},
        {"statement": "self.first[:] = 0"},
        {"statement": "self.other[:] = 0"},
        {"statement": "logs['x'] = self.x.sum()"},
        {"statement": "self.other[:] = 0", "callbacks": "[Changes(x, np.zeros(4))]"},
        {"callbacks": "[Changes(np.zeros(4))]"},
        {"callbacks": "None"},
        {"arrays": "np.zeros((32, 4)), y"},
    ],
)
def test_nothing_is_told(changes: dict[str, str]) -> None:
    assert actions(check_migrated(of(**changes)), "TFM448") == []
