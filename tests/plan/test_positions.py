"""Positional arguments of optimizers, whose places were others in older versions (TFM221)."""

from __future__ import annotations

import inspect
import re

import pytest

from tests.kit import migrate
from tfmigrate import old_keras
from tfmigrate.result import FileResult
from tfmigrate.settings import Settings

SCRIPT = """\
from {keras}.layers import Dense
from {keras}.models import Sequential
from {keras}.optimizers import {optimizer}
from {keras}.utils import multi_gpu_model


def train(args, lr, momentum, decay, nesterov, epochs):
    model = Sequential([Dense(1, input_shape=(4,))])
    parallel_model = multi_gpu_model(model, gpus=2)
    parallel_model.compile({call}, "mse")
    parallel_model.fit_generator(batches, epochs=epochs)


train(arguments, *numbers)
"""


def migrated(call: str, keras: str = "keras", settings: Settings | None = None) -> FileResult:
    text = SCRIPT.format(keras=keras, optimizer=call.partition("(")[0], call=call)
    return migrate(text, settings or Settings())


def optimizer_of(result: FileResult) -> str:
    found = re.search(r'\.compile\((.*), "mse"\)', result.after)
    assert found is not None
    return found[1].replace("tf.keras.optimizers.schedules.InverseTimeDecay", "Decay")


def told(result: FileResult) -> list[str]:
    return [finding.message for finding in result.findings if finding.code == "TFM221"]


SURE = [
    ("SGD(0.01, 0.9, 1e-6, True)", "SGD(Decay(0.01, 1, 1e-6), 0.9, nesterov=True)"),
    ("SGD(0.01, 0.9, 1e-6)", "SGD(Decay(0.01, 1, 1e-6), 0.9)"),
    ("SGD(lr, momentum, decay, nesterov)", "SGD(Decay(lr, 1, decay), momentum, nesterov=nesterov)"),
    ("SGD(lr, 0.9, args.wd, nesterov=True)", "SGD(Decay(lr, 1, args.wd), 0.9, nesterov=True)"),
    ("SGD(lr, 0.9, args.lr_decay)", "SGD(Decay(lr, 1, args.lr_decay), 0.9)"),
    ("Adam(lr, 0.9, 0.999, 1e-8, 1e-5)", "Adam(Decay(lr, 1, 1e-5), 0.9, 0.999, epsilon=1e-8)"),
    ("Adam(lr, 0.9, 0.999, None, 0.0, True)", "Adam(lr, 0.9, 0.999, amsgrad=True)"),
    ("Adam(lr, 0.9, 0.999, None)", "Adam(lr, 0.9, 0.999)"),
    ("Adadelta(1.0, 0.95, None, 0.1)", "Adadelta(Decay(1.0, 1, 0.1), 0.95)"),
    ("Adamax(lr, 0.9, 0.999, 1e-8, 0.1)", "Adamax(Decay(lr, 1, 0.1), 0.9, 0.999, epsilon=1e-8)"),
    ("Nadam(lr, 0.9, 0.999, 1e-8, 0.004)", "Nadam(lr, 0.9, 0.999, epsilon=1e-8)"),
]


@pytest.mark.parametrize("keras", ["keras", "tensorflow.keras"])
@pytest.mark.parametrize(("before", "after"), SURE)
def test_what_one_version_alone_can_have_taken_gets_its_name(keras: str, before: str, after: str) -> None:
    result = migrated(before, keras)
    assert optimizer_of(result) == after
    moved = {"Adam(lr, 0.9, 0.999, None)"}
    assert len(told(result)) == (before not in moved), "an epsilon that stands where it stood is not told"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("RMSprop(0.001, 0.9, 1e-6)", "RMSprop(0.001, 0.9, epsilon=1e-12)"),
        ("Adagrad(0.01, 1e-8)", "Adagrad(0.01, epsilon=1e-16, initial_accumulator_value=0.0)"),
    ],
)
def test_standalone_keras_had_no_other_place_for_them(before: str, after: str) -> None:
    assert optimizer_of(migrated(before)) == after


@pytest.mark.parametrize(
    "call",
    [
        "SGD(0.01, 0.9, True)",
        "SGD(lr, momentum, nesterov)",
        "SGD(0.01, 0.9)",
        "SGD(0.01, decay, momentum=0.9)",  # nothing ever took momentum twice
        "Adam(lr, 0.9, 0.999, 1e-8)",
        "Adam(lr, *args)",
        "Adadelta(1.0, 0.95, 1e-6)",
        "Adam(lr, 0.9, 0.999, 1e-8, 1e-5, True, 7, 8)",  # no version took so many
    ],
)
@pytest.mark.parametrize("keras", ["keras", "tensorflow.keras"])
def test_what_stands_where_it_stood_is_left(keras: str, call: str) -> None:
    result = migrated(call, keras)
    assert optimizer_of(result) == call
    assert told(result) == []


def test_what_two_versions_can_have_taken_is_told_and_left() -> None:
    result = migrated("RMSprop(0.001, 0.9, 0.1)", "tensorflow.keras")
    assert optimizer_of(result) == "RMSprop(0.001, 0.9, 0.1)"
    (message,) = told(result)
    assert "the third argument of RMSprop was `epsilon` before tensorflow 1.14 and is `momentum`" in message
    result = migrated("SGD(lr, 0.9, args.third)")
    assert optimizer_of(result) == "SGD(lr, 0.9, args.third)"
    assert "pass --from keras==VERSION" in told(result)[0]


@pytest.mark.parametrize(
    ("version", "after"),
    [("tensorflow==1.13.1", "RMSprop(0.001, 0.9, epsilon=0.01)"), ("tensorflow==2.3", "RMSprop(0.001, 0.9, 0.1)")],
)
def test_the_version_tells(version: str, after: str) -> None:
    result = migrated("RMSprop(0.001, 0.9, 0.1)", "tensorflow.keras", Settings(from_version=version))
    assert optimizer_of(result) == after


def test_a_rule_that_is_not_wanted_names_nothing() -> None:
    result = migrated("SGD(0.01, 0.9, 1e-6, True)", settings=Settings(ignore=("TFM221",)))
    assert optimizer_of(result) == "SGD(0.01, 0.9, 1e-6, True)"


@pytest.mark.runs_tensorflow
def test_the_places_of_today_are_those_of_this_keras() -> None:
    from tensorflow.keras import optimizers

    classes = {cls.lower(): getattr(optimizers, cls) for cls in dir(optimizers)}
    for name, parameters in old_keras.TODAY.items():
        taken = list(inspect.signature(classes[name].__init__).parameters)[1:]
        assert taken[: len(parameters)] == list(parameters), name
