"""A program whose function wraps a model for each of many callers is planned in time that grows with their number."""

from __future__ import annotations

import pytest

from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings
from tfmigrate.understand import lifecycle

FUNCTION = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


def train(units, data):
    model = Sequential([Dense(units, input_shape=(4,))])
    parallel_model = multi_gpu_model(model, gpus=2)
    parallel_model.compile(loss="mse", optimizer="sgd")
    parallel_model.fit_generator(data, epochs=2)


"""


def models_asked(calls: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often the models of a value are collected while a program with that many calls is migrated."""
    count = 0
    plain = lifecycle.models_of

    def counted(value: lifecycle.Value) -> frozenset[lifecycle.ModelObject]:
        nonlocal count
        count += 1
        return plain(value)

    with monkeypatch.context() as patched:
        patched.setattr(lifecycle, "models_of", counted)
        text = FUNCTION + "".join(f"train({units}, data)\n" for units in range(calls))
        (result,) = migrate_sources({"train.py": text}, Settings())
    assert result.status == "migrated"
    return count


def test_twice_as_many_calls_are_twice_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    assert models_asked(40, monkeypatch) < 2.2 * models_asked(20, monkeypatch)
