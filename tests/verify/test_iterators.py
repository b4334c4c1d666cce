"""Batches that iterators of a script make at random, whenever they are asked for; no TensorFlow is needed for that."""

from __future__ import annotations

import builtins
import random
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tfmigrate.verify.probe import calls, iterators

Drawing = Callable[[], Any]
SCRIPT = """
import random
import numpy as np

def batches():
    while True:
        yield random.random(), np.random.rand()

class Batches:
    __slots__ = ("places",)
    __hash__ = None

    def __init__(self):
        self.places = []

    def __iter__(self):
        return self

    def __next__(self):
        if not self.places:
            self.places = list(np.random.permutation(5))
        return self.places.pop()

class Around:
    def __init__(self):
        self.inner = batches()

    def __iter__(self):
        return self

    def __next__(self):
        return random.random(), next(self.inner)

def three():
    for _ in range(3):
        yield random.random()
"""


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Drawing]:
    """The makers of the script's iterators, with `next` as it is while the script runs."""
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    monkeypatch.setattr(builtins, "next", builtins.next)
    iterators.install({"script": str(script), "seed": 7})
    names: dict[str, Any] = {}
    exec(compile(SCRIPT, str(script), "exec"), names)
    return names


def read_before(iterator: Iterator[Any]) -> list[Any]:
    """As a migrated script does: some for a signature, then the others in training."""
    first = [next(iterator) for _ in range(3)]
    np.random.seed(1)
    random.seed(1)
    return first + [next(iterator) for _ in range(4)]


def read_in_turns(iterator: Iterator[Any]) -> list[Any]:
    """As the old one does, with other draws between."""
    found = []
    for _ in range(7):
        found.append(next(iterator))
        np.random.rand(3)
        random.random()
    return found


@pytest.mark.parametrize("name", ["batches", "Batches", "Around"])
def test_a_batch_depends_on_its_number_alone(made: dict[str, Drawing], name: str) -> None:
    found = [read(made[name]()) for read in (read_before, read_in_turns, lambda one: list(islice(numbered(one), 7)))]
    assert found[0] == found[1] == found[2]
    assert len({str(batch) for batch in found[0]}) > 3


def numbered(iterator: Iterator[Any]) -> Any:
    arguments = {"generator": iterator, "validation_data": (1, 2)}
    calls.neutralise(arguments, type("Signature", (), {"parameters": {}}), 0, {"seed": 7})
    assert arguments["validation_data"] == (1, 2)
    return arguments["generator"]


def test_the_streams_of_the_script_stay_where_they_are(made: dict[str, Drawing]) -> None:
    np.random.seed(3)
    random.seed(3)
    expected = np.random.rand(), random.random()
    np.random.seed(3)
    random.seed(3)
    next(made["Around"]())
    assert (np.random.rand(), random.random()) == expected


def test_an_iterator_that_ends_ends(made: dict[str, Drawing]) -> None:
    assert len(list(numbered(made["three"]()))) == 3
    last = made["three"]()
    assert [next(last, None) for _ in range(4)][3] is None


def test_other_iterators_draw_from_the_script_s_stream(made: dict[str, Drawing]) -> None:
    numbers = (random.random() for _ in range(2))
    random.seed(3)
    expected = random.random()
    random.seed(3)
    assert next(numbers) == expected
