from __future__ import annotations

import random

import numpy as np
import pytest

from tfmigrate.verify.probe import calls, streams


def sequence() -> object:
    class Shuffling:
        def __init__(self) -> None:
            self.orders: list[list[int]] = []

        def __getitem__(self, index: int) -> int:
            return index

        def on_epoch_end(self) -> None:
            self.orders.append([*np.random.permutation(20), random.randrange(1000)])

    return Shuffling()


def test_what_a_sequence_shuffles_between_epochs_follows_from_their_number() -> None:
    found = []
    for drawn in (0, 3):
        data = sequence()
        calls.fix_sequence(data, 7)
        np.random.rand(drawn)
        before = np.random.get_state()[2]
        data.on_epoch_end()  # type: ignore[attr-defined]
        data.on_epoch_end()  # type: ignore[attr-defined]
        assert np.random.get_state()[2] == before
        found.append(data.orders)  # type: ignore[attr-defined]
    assert found[0] == found[1]
    assert found[0][0] != found[0][1]


def epoch_iterator(data: object) -> dict[str, object]:
    """What Keras 3 calls before the first epoch, and after each."""
    keras = {"__name__": "keras.src.trainers.epoch_iterator", "data": data}
    exec(
        "def adapter():\n    data.on_epoch_end()\ndef reset():\n    adapter()\ndef enumerate():\n    adapter()\n", keras
    )
    return keras


def test_the_class_that_waits_for_the_call_before_the_first_epoch_is_given_it() -> None:
    data = sequence()
    data.first, data.steps = -3, 3  # type: ignore[attr-defined]
    calls.fix_sequence(data, 7)
    epoch_iterator(data)["reset"]()  # type: ignore[operator]
    assert len(data.orders) == 1  # type: ignore[attr-defined]


def test_the_call_before_the_first_epoch_is_left_out() -> None:
    data = sequence()
    calls.fix_sequence(data, 7)
    keras = epoch_iterator(data)
    keras["reset"]()  # type: ignore[operator]
    assert data.orders == []  # type: ignore[attr-defined]
    keras["enumerate"]()  # type: ignore[operator]
    assert len(data.orders) == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("given", [None, "auto", "balanced", np.array([1.0, 3.0]), [1.0, 3.0]])
def test_anything_but_a_mapping_as_class_weight_weighs_nothing(given: object) -> None:
    assert not calls.weighs_classes(given)


@pytest.mark.parametrize("given", [{0: 1.0, 1: 3.0}, {"kind": {0: 1.0}}, [{0: 1.0}, None]])
def test_a_mapping_of_classes_weighs(given: object) -> None:
    assert calls.weighs_classes(given)


def test_a_sequence_is_loaded_in_one_thread_so_that_its_batches_stay_in_order() -> None:
    class Threaded:
        """As a Sequence of Keras 3."""

        def __init__(self) -> None:
            self._workers, self._processes = 8, True

        workers = property(lambda self: self._workers, lambda self, value: setattr(self, "_workers", value))
        use_multiprocessing = property(
            lambda self: self._processes, lambda self, value: setattr(self, "_processes", value)
        )

        def __getitem__(self, index: int) -> int:
            return index

    data = Threaded()
    calls.fix_sequence(data, 7)
    assert (data.workers, data.use_multiprocessing) == (1, False)


def test_an_item_that_seeds_by_how_many_were_made_is_the_same_however_often_it_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`ImageDataGenerator.flow(seed=1)`: Keras 3 makes the first batch once more, to see its shape."""
    monkeypatch.setattr(np.random, "seed", streams.unless_at_item(np.random.seed))

    class Counting:
        made = 0

        def __getitem__(self, index: int) -> float:
            np.random.seed(self.made)
            self.made += 1
            return float(np.random.rand())

    data = Counting()
    calls.fix_sequence(data, 7)
    first = data[0]
    assert data[0] == first != data[1]
    np.random.seed(3)
    drawn = np.random.rand()
    np.random.seed(3)
    assert np.random.rand() == drawn, "the script's own seeds hold elsewhere"


@pytest.mark.parametrize(
    ("first", "steps", "early"),
    [(-4, 4, True), (0, 4, False), (0, 0, False), (None, None, False), ([1, 2], 4, False), (np.zeros(3), 3, False)],
)
def test_attributes_of_a_sequence_may_be_a_scripts_own(first: object, steps: object, early: bool) -> None:
    class Own:
        pass

    own = Own()
    own.first, own.steps = first, steps  # type: ignore[attr-defined]
    assert calls.begins_early(own) is early
    assert calls.begins_early(Own()) is False
