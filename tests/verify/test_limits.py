"""The cut that makes a training call short; no TensorFlow is needed to see where it falls."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from tfmigrate.verify.probe import limits


def fit(x: Any, y: Any = None, batch_size: int | None = None, steps_per_epoch: int | None = None) -> None: ...


def shorten(source: str, limit: dict[str, int], **arguments: Any) -> tuple[dict[str, Any], str | None]:
    return arguments, limits.shorten(arguments, inspect.signature(fit), source, limit)


class Sequence:
    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> Any:
        return {"a": np.zeros((20, 3))}, np.zeros(20)


class Dataset:
    def __init__(self, *inputs: Dataset, batch: int | None = None) -> None:
        self._inputs = lambda: list(inputs)
        if batch:
            self._batch_size = np.int64(batch)

    def take(self, count: int) -> Any:
        return "taken", count


@pytest.mark.parametrize(
    ("limit", "left"),
    [({}, 100), ({"steps_per_epoch": 2}, 40), ({"samples": 50}, 40), ({"steps_per_epoch": 9, "samples": 5}, 20)],
)
def test_arrays_are_cut_to_whole_batches(limit: dict[str, int], left: int) -> None:
    x, y = np.arange(100), np.arange(100)
    arguments, remark = shorten("arrays", limit, x=[x, x[::-1]], y={"out": y}, batch_size=20, sample_weight=None)
    assert remark is None
    assert [len(part) for part in arguments["x"]] == [left, left]
    assert arguments["x"][1][0] == 99
    assert list(arguments["y"]["out"]) == list(range(left))


def test_a_validation_without_targets_is_cut_too() -> None:
    arguments: dict[str, Any] = {"validation_data": (np.arange(100), None), "batch_size": 20}
    limits.shorten_validation(arguments, inspect.signature(fit), "arrays", 2)
    inputs, targets = arguments["validation_data"]
    assert len(inputs) == 40
    assert targets is None


def test_the_validation_split_comes_first() -> None:
    x = np.arange(100)
    arguments, _ = shorten("arrays", {"steps_per_epoch": 1}, x=x, y=x, validation_split=0.1)
    assert list(arguments["x"]) == list(range(32)), "Keras' own batch size"
    assert [list(part) for part in arguments["validation_data"]] == [list(range(90, 100))] * 2
    assert not arguments["validation_split"]


@pytest.mark.parametrize(
    ("limit", "steps"), [({"steps_per_epoch": 3}, 3), ({"samples": 45}, 2), ({"samples": 999}, 10)]
)
def test_a_sequence_is_cut_by_its_steps(limit: dict[str, int], steps: int) -> None:
    arguments, _ = shorten("sequence", limit, x=Sequence())
    assert arguments["steps_per_epoch"] == steps


def test_steps_that_the_script_gives_are_only_lowered() -> None:
    assert shorten("generator", {"steps_per_epoch": 3}, x=iter(()), steps_per_epoch=2)[0]["steps_per_epoch"] == 2
    assert shorten("generator", {"steps_per_epoch": 3}, x=iter(()), steps_per_epoch=9)[0]["steps_per_epoch"] == 3


def test_a_dataset_is_cut_behind_all_its_steps() -> None:
    pipeline = Dataset(Dataset(Dataset(), batch=20))
    assert shorten("dataset", {"samples": 50}, x=pipeline)[0]["x"] == ("taken", 2)
    assert shorten("dataset", {"steps_per_epoch": 5}, x=Dataset())[0]["x"] == ("taken", 5)


def test_a_generator_has_no_known_batch() -> None:
    arguments, remark = shorten("generator", {"samples": 50}, x=iter(()))
    assert "steps_per_epoch" not in arguments
    assert remark is not None
    assert "--steps does" in remark
