"""A part of a model that unknown callers pass to the function that builds and wraps it."""

from __future__ import annotations

import pytest

from tests.kit import actions, migrate

HEAD = """\
from keras.layers import Dense, Input
from keras.models import Model, Sequential
from keras.utils import multi_gpu_model


def combine(critic, gpus):
    fake = Input((4,))
    {built}
    parallel = multi_gpu_model(model, gpus=gpus)
    parallel.compile("sgd", "mse")
    return parallel
"""


@pytest.mark.parametrize(
    "built",
    [
        "model = Model(fake, critic(fake))",
        "model = Model(fake, [critic(fake), critic(Dense(4)(fake))])",
        "judged = critic(fake)\n    model = Model(fake, judged)",
        "model = Sequential([Dense(4, input_shape=(4,)), critic])",
        "model = Sequential()\n    model.add(Dense(4))\n    model.add(critic)",
    ],
)
def test_a_part_from_unknown_callers_is_told_once(built: str) -> None:
    file = migrate(HEAD.format(built=built))
    assert file.status == "migrated"
    assert ["`critic` is a model" in f.message for f in file.findings if f.code == "TFM023"] == [True]


@pytest.mark.parametrize(
    "built",
    [
        "model = Model(fake, Dense(critic)(fake))",
        "model = Model(fake, Dense(1, activation=critic)(fake))",
        "print(critic(4))\n    model = Model(fake, Dense(1)(fake))",
        "critic = Dense(1)\n    model = Model(fake, critic(fake))",
    ],
)
def test_other_parameters_are_not(built: str) -> None:
    assert actions(migrate(HEAD.format(built=built)), "TFM023") == []


@pytest.mark.parametrize("made", ["Sequential([Dense(1, input_shape=(4,))])", "Dense(1)"])
def test_a_part_from_a_known_caller_is_not(made: str) -> None:
    file = migrate(HEAD.format(built="model = Model(fake, critic(fake))") + f"\n\ntrained = combine({made}, 2)\n")
    assert actions(file, "TFM023") == []
