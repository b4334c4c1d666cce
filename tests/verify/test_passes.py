"""Epochs that are not the whole of a Sequence; no TensorFlow is needed to see which batches they take."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tfmigrate.verify.probe import calls, passes


class Sequence:
    def __init__(self) -> None:
        self.base = "Keras's own"


class Rows(Sequence):
    def __init__(self) -> None:
        super().__init__()
        self.ended = 0

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> int:
        assert 0 <= index < 4
        return index

    def on_epoch_end(self) -> None:
        self.ended += 1


def epochs(data: Any, count: int) -> list[list[int]]:
    found = []
    for _ in range(count):
        found.append([data[index] for index in range(len(data))])
        data.on_epoch_end()
    return found


def test_an_epoch_goes_on_where_the_last_one_ended() -> None:
    rows = Rows()
    data = passes.in_epochs(rows, 3, 3)
    assert epochs(data, 4) == [[0, 1, 2], [3, 0, 1], [2, 3, 0], [1, 2, 3]]
    assert rows.ended == 3
    assert data.base == "Keras's own"


class Flow(Rows):
    def __next__(self) -> int:
        raise AssertionError("asked for by its index, by which verify seeds what an item draws")


@pytest.mark.parametrize(("world", "data", "is_wrapped"), [
    ("genuine", Flow(), True), ("genuine", Rows(), False), ("migrated", Flow(), False), ("restored", Flow(), False),
])  # fmt: skip
def test_old_keras_takes_the_batches_of_an_iterator_by_their_index(world: str, data: Rows, is_wrapped: bool) -> None:
    recorder: Any = SimpleNamespace(config={"world": world}, aligned=True)
    arguments = {"generator": data, "steps_per_epoch": 4}
    passes.go_on(arguments, None, recorder)
    assert (arguments["generator"] is not data) is is_wrapped
    assert epochs(arguments["generator"], 2) == [[0, 1, 2, 3]] * 2


def test_one_may_be_longer_than_the_data() -> None:
    rows = Rows()
    assert epochs(passes.in_epochs(rows, 6, 6), 2) == [[0, 1, 2, 3, 0, 1], [2, 3, 0, 1, 2, 3]]
    assert rows.ended == 2


def test_a_shortened_one_is_the_first_steps_of_the_one_asked_for() -> None:
    assert epochs(passes.in_epochs(Rows(), 2, 3), 4) == [[0, 1], [3, 0], [2, 3], [1, 2]]


def test_the_migrated_sequence_is_shortened_to_the_same() -> None:
    migrated = passes.in_epochs(Rows(), 3, 3)
    assert epochs(passes.in_epochs(migrated, 2, 3), 4) == epochs(passes.in_epochs(Rows(), 2, 3), 4)


def test_the_migrated_sequence_is_told_where_an_epoch_begins() -> None:
    class Counting(Rows):
        begun = 0

        def on_epoch_begin(self) -> None:
            self.begun += 1

    rows = Counting()
    passes.in_epochs(rows, 2, 3).on_epoch_begin()
    assert rows.begun == 1
    passes.in_epochs(Rows(), 2, 3).on_epoch_begin()


def settled(
    world: str, given: float | None, steps: float | None, aligned: bool = True
) -> tuple[dict[str, Any], list[str]]:
    notes: list[str] = []
    arguments = {"generator": Rows(), "steps_per_epoch": steps}
    recorder = SimpleNamespace(config={"world": world}, aligned=aligned, note=notes.append)
    passes.go_on(arguments, given, recorder)
    return arguments, notes


@pytest.mark.parametrize("world", ["genuine", "restored"])
def test_old_runs_go_on_and_say_so(world: str) -> None:
    arguments, notes = settled(world, 2.5, 2.5)
    assert len(arguments["generator"]) == 3
    assert arguments["steps_per_epoch"] is None
    assert notes == [passes.REMARK]


@pytest.mark.parametrize(
    ("world", "given", "steps", "aligned"),
    [
        ("migrated", 3, 3, True),
        ("migrated", 3, 2, True),
        ("genuine", 3, 3, False),
        ("genuine", 4, 4, True),
        ("restored", None, None, True),
    ],
)
def test_all_else_stays_as_its_keras_has_it(
    world: str, given: float | None, steps: float | None, aligned: bool
) -> None:
    arguments, notes = settled(world, given, steps, aligned)
    assert type(arguments["generator"]) is Rows
    assert arguments["steps_per_epoch"] == steps
    assert notes == []


@pytest.mark.parametrize("world", ["genuine", "restored", "migrated"])
def test_whole_epochs_are_shortened_alike_on_all_sides(world: str) -> None:
    arguments, notes = settled(world, None, 2)
    assert epochs(arguments["generator"], 2) == [[0, 1], [0, 1]]
    assert notes == []


def test_what_a_sequence_hands_on_draws_by_its_index_too() -> None:
    class Noise(Rows):
        def __getitem__(self, index: int) -> Any:
            return np.random.rand()

    class Around(Sequence):
        def __init__(self) -> None:
            self.inner, self.again = Noise(), self

        def __getitem__(self, index: int) -> Any:
            return self.inner[index + 1]

    around = Around()
    calls.fix_sequence(around, 7)
    assert around[0] == around.inner[1]
    assert around[0] != around[1]
