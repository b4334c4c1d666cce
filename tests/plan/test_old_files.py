"""Files that may hold a parallel model are reported (TFM022)."""

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


{training}predict()
"""


@pytest.mark.parametrize(("number", "told"), [("1", 0), ("0", 0), ("2", 1), ("count()", 1)])
def test_for_one_gpu_the_guard_makes_no_parallel_model(number: str, told: int) -> None:
    program = PROGRAM.format(number=number, training="train(count())\n")
    assert len(actions(migrate(program), "TFM022")) == told


def test_a_number_that_is_one_everywhere_may_have_been_another() -> None:
    program = PROGRAM.format(number=1, training="train(1)\n")
    assert len(actions(migrate(program), "TFM022")) == 1
