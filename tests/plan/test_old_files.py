"""Files of a parallel model (TFM022) are told where the model may be one."""

from __future__ import annotations

import pytest

from tests.kit import actions, migrate

PROGRAM = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


def build(gpus):
    model = Sequential([Dense(1, input_shape=(4,))])
    if gpus > 1:
        model = multi_gpu_model(model, gpus=gpus)
    return model


def train(gpus):
    model = build(gpus)
    model.compile("sgd", "mse")
    model.fit_generator(batches)


def predict():
    model = build({number})
    model.load_weights("w.h5")
    return model.predict(rows)


train(count())
predict()
"""


@pytest.mark.parametrize(("number", "told"), [("1", 0), ("0", 0), ("2", 1), ("count()", 1)])
def test_for_one_gpu_the_guard_makes_no_parallel_model(number: str, told: int) -> None:
    assert len(actions(migrate(PROGRAM.format(number=number)), "TFM022")) == told
