"""The budget of steps: where it cuts a training call, and where it ends the script."""

from __future__ import annotations

import inspect
import json
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tfmigrate.verify.probe import limits
from tfmigrate.verify.probe.budget import Budget
from tfmigrate.verify.probe.lines import Lines
from tfmigrate.verify.probe.recorder import Call
from tfmigrate.verify.run import trace
from tfmigrate.verify.run.world import Limits

from .worlds import Worlds


def budget_of(folder: Path, **config: Any) -> Budget:
    return Budget(config, Lines(str(folder / "trace")))


def train(into: Budget, call: Call, whole: int, epochs: int, left: int | None) -> None:
    """What a Keras does with a training call that was cut as `limits` says."""
    call.whole = whole
    steps = min(into.limits(whole).get("steps_per_epoch") or whole, whole)
    for epoch in range(epochs):
        call.epoch, call.step = epoch, 0
        for _ in range(steps):
            call.step, call.steps = call.step + 1, call.steps + 1
            into.count()
        if into.is_over(call):
            break
    into.end_of_call(call, left)


@pytest.mark.parametrize(
    ("whole", "epochs", "taken", "cut"),
    [
        (500, 70, 30, {"epochs": 70, "steps_per_epoch": 500, "steps": 30}),
        (12, 70, 24, {"epochs": 70, "steps_per_epoch": 12, "steps": 24}),
        (30, 2, 30, {"epochs": 2, "steps_per_epoch": 30, "steps": 30}),
        (15, 2, 30, None),
        (4, 3, 12, None),
        (31, 1, 30, {"epochs": 1, "steps_per_epoch": 31, "steps": 30}),
    ],
)
def test_whole_epochs_are_trained_while_they_fit(
    tmp_path: Path, whole: int, epochs: int, taken: int, cut: dict[str, int] | None
) -> None:
    into = budget_of(tmp_path, budget=30)
    call = Call(0, None, "fit", {"epochs": epochs})
    if cut is None:
        train(into, call, whole, epochs, into.left)
    else:
        with pytest.raises(SystemExit) as leaving:
            train(into, call, whole, epochs, into.left)
        assert leaving.value.code == 0
    assert into.taken == taken
    found = trace.load(tmp_path / "trace").cut if cut else None
    assert (None if found is None else found) == (None if cut is None else trace.Cut(fit=0, **cut))


def test_without_a_budget_nothing_is_cut(tmp_path: Path) -> None:
    into = budget_of(tmp_path)
    train(into, Call(0, None, "fit", {"epochs": 70}), 500, 70, into.left)
    assert into.taken == 35_000
    assert into.left is None


def test_the_limits_of_the_command_line_stay(tmp_path: Path) -> None:
    into = budget_of(tmp_path, budget=30, steps_per_epoch=5, epochs=2)
    train(into, Call(0, None, "fit", {"epochs": 70}), 500, 2, into.left)
    assert into.taken == 10


def test_a_later_training_call_gets_what_is_left(tmp_path: Path) -> None:
    into = budget_of(tmp_path, budget=30)
    train(into, Call(0, None, "fit", {"epochs": 2}), 10, 2, into.left)
    assert into.left == 10
    with pytest.raises(SystemExit):
        train(into, Call(1, None, "fit", {"epochs": 1}), 100, 1, into.left)
    assert into.taken == 30


@pytest.mark.parametrize(
    ("limits", "taken", "step", "seconds", "ends"),
    [
        ({"patience": 60.0}, 5, 5, 61, True),
        ({"patience": 60.0}, 5, 5, 59, False),
        ({"patience": 60.0}, 4, 4, 61, False),  # a few are taken in any case
        ({"patience": 60.0}, 12, 8, 61, False),  # the validation of an epoch belongs to its last step
        ({}, 29, 3, 9000, False),
        ({"exactly": 7}, 7, 3, 0, True),
        ({"exactly": 7, "patience": 60.0}, 6, 6, 61, False),
    ],
)
def test_slow_steps_end_a_training_call(
    tmp_path: Path, limits: dict[str, float], taken: int, step: int, seconds: float, ends: bool
) -> None:
    into = budget_of(tmp_path, budget=30, **limits)
    into.taken, into.first_step_over = taken, time.time() - seconds
    call = Call(0, None, "fit", {"epochs": 9})
    call.whole, call.step, call.steps = 8, step, taken
    if not ends:
        into.end_where_slow(call)
        return
    with pytest.raises(SystemExit) as leaving:
        into.end_where_slow(call)
    assert leaving.value.code == 0
    assert trace.load(tmp_path / "trace").cut == trace.Cut(0, 9, 8, taken, slow=True)


SLOW = """
import sys
import time
import numpy as np
from {keras}.callbacks import Callback
from {keras}.layers import Dense
from {keras}.models import Sequential


class Slow(Callback):
    def on_batch_end(self, batch, logs=None):
        time.sleep(0.3)


model = Sequential([Dense(1, input_shape=(2,))])
model.compile("sgd", "mse")
model.fit(np.ones((64, 2)), np.ones(64), batch_size=8, epochs=5, validation_split=0.5, callbacks=[Slow()])
sys.exit("the script goes on")
"""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize(
    ("name", "keras"),
    [
        ("genuine keras", "keras"),
        ("migrated keras 3", "tensorflow.keras"),
        ("migrated keras 2", "tensorflow.keras"),
    ],
)
def test_a_slow_script_is_ended(name: str, keras: str, worlds: Worlds) -> None:
    """Epochs of four steps of 0.3 s, with the whole of one by 1.2 s."""
    world = worlds.of(name, SLOW.format(keras=keras))
    for steps, how in {6: Limits(exactly=6), 5: Limits(patience=0.1)}.items():
        run = worlds.run(world, limits=replace(how, seconds=200))
        assert len(run.trace.steps) == steps
        assert run.trace.cut == trace.Cut(0, 5, 4, steps, slow=True)
        assert [epoch.epoch for epoch in run.trace.epochs] == [0]


def test_a_loop_of_train_on_batch_ends_with_the_budget(tmp_path: Path) -> None:
    into = budget_of(tmp_path, budget=6)
    calls = [SimpleNamespace(step=3, index=0), SimpleNamespace(step=2, index=1)]
    into.taken = 5
    into.end_of_batches(2, calls)
    into.taken = 6
    with pytest.raises(SystemExit):
        into.end_of_batches(2, calls)
    (line,) = [json.loads(text) for text in (tmp_path / "trace" / "trace.jsonl").read_text().splitlines()]
    assert (line["event"], line["steps"], line["epochs"]) == ("cut", 6, None)


class Dataset:
    def __init__(self, count: int) -> None:
        self.count = count

    def cardinality(self) -> np.int64:
        return np.int64(self.count)

    def take(self, count: int) -> tuple[str, int]:
        return "taken", count


class Sequence:
    def __len__(self) -> int:
        return 40


@pytest.mark.parametrize(
    ("arguments", "source", "steps"),
    [
        ({"x": np.zeros(100), "batch_size": 30}, "arrays", 4),
        ({"x": [np.zeros(100)], "validation_split": 0.5}, "arrays", 2),
        ({"x": np.zeros(100), "validation_split": 0.5, "validation_data": ()}, "arrays", 4),
        ({"x": iter(()), "steps_per_epoch": 7}, "generator", 7),
        ({"x": iter(())}, "generator", None),
        ({"x": Sequence()}, "sequence", 40),
        ({"x": Dataset(9)}, "dataset", 9),
        ({"x": Dataset(-2)}, "dataset", None),
        ({"x": object()}, "dataset", None),
    ],
)
def test_the_steps_of_an_epoch(arguments: dict[str, Any], source: str, steps: int | None) -> None:
    assert limits.steps_of(arguments, source) == steps


def fit(x: Any, validation_data: Any = None, validation_steps: int | None = None) -> None: ...


def test_validation_is_cut_to_as_many_batches() -> None:
    def cut(source: str, **arguments: Any) -> dict[str, Any]:
        limits.shorten_validation(arguments, inspect.signature(fit), source, 2)
        return arguments

    x, y = np.arange(100), np.arange(100)
    assert [len(one) for one in cut("arrays", validation_data=(x, y), batch_size=8)["validation_data"]] == [16, 16]
    assert [len(one) for one in cut("arrays", validation_data=(x, y))["validation_data"]] == [64, 64]
    assert cut("dataset", validation_data=Dataset(9))["validation_data"] == ("taken", 2)
    assert cut("dataset", validation_data=Dataset(9), validation_steps=1)["validation_steps"] == 1
    assert cut("sequence", validation_data=Sequence())["validation_steps"] == 2
    assert cut("generator", validation_data=iter(()), validation_steps=50)["validation_steps"] == 2
