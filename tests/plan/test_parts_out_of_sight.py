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


@pytest.mark.parametrize(
    "built",
    [
        "model = Model(critic.input, Dense(1)(critic.output))",
        "model = Model(critic.input, Dense(1)(critic.outputs[0]))",
        "model = Model([fake, critic.input], critic.output)",
    ],
)
def test_the_tensors_of_a_model_from_unknown_callers_are_told_once(built: str) -> None:
    file = migrate(HEAD.format(built=built))
    assert file.status == "migrated"
    assert ["`critic` is a model" in f.message for f in file.findings if f.code == "TFM023"] == [True]


@pytest.mark.parametrize(
    "built",
    [
        "model = Model(fake, Dense(critic.output)(fake))",
        "model = Model(fake, Dense(1, name=critic.name)(fake))",
        "print(critic.output)\n    model = Model(fake, Dense(1)(fake))",
        "critic = Sequential([Dense(1, input_shape=(4,))])\n    model = Model(critic.input, critic.output)",
    ],
)
def test_other_attributes_of_parameters_are_not(built: str) -> None:
    assert actions(migrate(HEAD.format(built=built)), "TFM023") == []


HELD = """\
import zoo
from keras.layers import Dense, Input
from keras.models import Model, Sequential
from keras.utils import multi_gpu_model
from zoo import load, net

{built}
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mean_squared_error")
"""


@pytest.mark.parametrize(
    ("built", "named"),
    [
        ("model = Model(zoo.net.input, Dense(2)(zoo.net.output))", "zoo.net"),
        ("model = Model(net.input, Dense(2)(net.output))", "net"),
        ("model = Model(net.inputs, net.outputs[0])", "net"),
        ("model = Sequential([net, Dense(2)])", "net"),
        ("model = Sequential()\nmodel.add(zoo.net)\nmodel.add(Dense(2))", "zoo.net"),
    ],
)
def test_a_model_that_a_module_out_of_sight_holds_is_told_once(built: str, named: str) -> None:
    file = migrate(HELD.format(built=built))
    assert file.status == "migrated"
    assert [f"`{named}` is a model" in f.message for f in file.findings if f.code == "TFM023"] == [True]


@pytest.mark.parametrize(
    "built",
    [
        "inner = load('base')\nmodel = Model(inner.model.input, Dense(2)(inner.model.output))",
        "inner = load('base')\nmodel = Model(inner.net.model.input, Dense(2)(inner.net.model.output))",
        "inner = load('base')\nmodel = Model(inner.model.inputs, Dense(2)(inner.model.outputs[0]))",
        "inner = load('base')\nwhole = inner.model\nmodel = Model(whole.input, Dense(2)(whole.output))",
        "inner = zoo.Net('base')\nwhole = Input((4,))\nmodel = Model(whole, Dense(2)(inner.model(whole)))",
        "inner = zoo.Net('base')\nwhole = Input((4,))\nmodel = Model(whole, Dense(2)(inner.encode(whole)))",
        "inner = zoo.Net('base')\nwhole = Input((4,))\nmodel = Model(whole, Dense(2)(inner.net.encode(whole)))",
    ],
)
def test_what_holds_a_model_out_of_sight_is_made_in_the_scope(built: str) -> None:
    file = migrate(HELD.format(built=built))
    lines = "".join(f"    {line}\n" for line in built.split("\n"))
    assert f"with strategy.scope():\n{lines}    model.compile(" in file.after
    assert actions(file, "TFM023") == []


@pytest.mark.parametrize(
    ("before", "built"),
    [
        ("sizes = load('base')", "whole = Input((4,))\nmodel = Model(whole, Dense(sizes.head.units)(whole))"),
        ("data = load('base')", "whole = Input(shape=data.train.x.shape)\nmodel = Model(whole, Dense(2)(whole))"),
        ("data = load('base')", "whole = Input(data.train.width)\nmodel = Model(whole, Dense(2)(whole))"),
        ("log = load('base')", "whole = Input((4,))\nlog.inner.info(whole)\nmodel = Model(whole, Dense(2)(whole))"),
    ],
)
def test_what_holds_data_is_not(before: str, built: str) -> None:
    file = migrate(HELD.format(built=f"{before}\n{built}"))
    assert f"\n\n{before}\nstrategy = " in file.after
    assert actions(file, "TFM023") == []
