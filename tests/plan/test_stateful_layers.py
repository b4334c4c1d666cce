"""A stateful layer fails under a strategy; in a model that none has to do with it works."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_unchanged, migrate

HEAD = """\
from keras.layers import Dense, Input, LSTM
from keras.models import Model, Sequential
from keras.utils import multi_gpu_model

{code}
"""
WRAPPED = """\
model = Sequential([LSTM(2, recurrent_activation="sigmoid", input_shape=(5, 4)), Dense(1)])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile("sgd", "mse")
parallel_model.fit(x, y, batch_size=16)
"""
STATEFUL = 'LSTM(2, recurrent_activation="sigmoid", stateful=True, input_shape=(1, 4))'


@pytest.mark.parametrize(
    "code",
    [
        f"{WRAPPED}stepper = Sequential([{STATEFUL}])\nprint(stepper.predict(x))",
        f"{WRAPPED}layer = {STATEFUL}\nstepper = Sequential([layer])\nlayer.reset_states()",
        f"{WRAPPED}stepper = Sequential()\nstepper.add({STATEFUL})",
        f"{WRAPPED}\n\ndef build(rows):\n    return Model(rows, {STATEFUL}(rows))\n\n\nstepper = build(Input((1, 4)))",
        f"stepper = Sequential([{STATEFUL}])",
        STATEFUL,
    ],
)
def test_a_model_that_is_never_distributed(code: str) -> None:
    assert actions(migrate(HEAD.format(code=code)), "TFM404") == []


@pytest.mark.parametrize(
    "code",
    [
        f"layer = {STATEFUL}\n{WRAPPED.replace('Dense(1)', 'layer, Dense(1)')}",
        f"layer = {STATEFUL}\nbase = Sequential([layer])\n{WRAPPED.replace('Dense(1)', 'base, Dense(1)')}",
        f"layer = {STATEFUL}\nstepper = Sequential([layer])\n{WRAPPED.replace('Dense(1)', 'layer, Dense(1)')}",
        f"def step():\n    return {STATEFUL}\n\n\n{WRAPPED.replace('Dense(1)', 'step(), Dense(1)')}",
        f"{WRAPPED}layer = {STATEFUL}\nstepper = make(layer)",
    ],
)
def test_a_layer_that_may_be_distributed(code: str) -> None:
    assert actions(migrate(HEAD.format(code=code)), "TFM404") == ["warn"]


BUILDER = """
def build(stateful=False):
    model = Sequential()
    model.add(LSTM(2, recurrent_activation="sigmoid", stateful=stateful, input_shape=(5, 4)))
    return model


{code}
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile("sgd", "mse")
parallel_model.fit(x, y, batch_size=16)
"""


@pytest.mark.parametrize("code", ["model = build(True)", "carries = True\nmodel = build(stateful=carries)"])
def test_a_builder_that_is_told_so(code: str) -> None:
    assert actions(migrate(HEAD.format(code=BUILDER.format(code=code))), "TFM404") == ["warn"]


@pytest.mark.parametrize(
    "code", ["model = build()", "model = build(False)", "model = build()\nstepper = build(True)", "model = build(own)"]
)
def test_a_builder_that_is_told_so_only_for_one_gpu(code: str) -> None:
    assert actions(migrate(HEAD.format(code=BUILDER.format(code=code))), "TFM404") == []


def test_of_a_program_on_a_strategy() -> None:
    program = """\
import tensorflow as tf
from tensorflow.keras.layers import Input, LSTM
from tensorflow.keras.models import Sequential

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = Sequential([Input((5, 4)), LSTM(2{inside})])
    model.compile("sgd", "mse")
model.fit(x, y)
stepper = Sequential([Input(batch_shape=(1, 1, 4)), LSTM(2{outside})])
print(stepper.predict(x))
"""
    stateful = ", stateful=True"
    assert actions(check_unchanged(program.format(inside=stateful, outside="")), "TFM404") == ["warn"]
    assert actions(check_unchanged(program.format(inside="", outside=stateful)), "TFM404") == []
