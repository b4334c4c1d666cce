from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from tfmigrate.verify.probe import streams
from tfmigrate.verify.probe.content import (
    SAMPLE,
    added,
    fingerprint_of,
    rows_anyhow,
    rows_sketch,
    sketch_of,
    values_of,
)

ROWS = np.random.RandomState(0).rand(8, 3)


@pytest.mark.parametrize(
    "rows",
    [
        ROWS,
        ROWS[:, :2],
        ROWS.reshape(8, 1, 3, 1),
        np.arange(8),
        np.array(["a", "bc", "d"] * 3)[:8],
        np.array([b"a", b"bc"] * 4, object),
        np.array([["a", "b"]] * 8, object),
    ],
    ids=["odd", "even", "deep", "integers", "text", "bytes", "columns of text"],
)
@pytest.mark.parametrize("cuts", [[4], [3], [2, 4, 6], [0, 8]])
def test_how_a_batch_is_cut_among_replicas_changes_nothing(rows: np.ndarray, cuts: list[int]) -> None:
    parts = np.split(rows, cuts)
    assert fingerprint_of([parts]) == fingerprint_of([[rows]])
    if rows.dtype.kind not in "OSU":
        np.testing.assert_allclose(sketch_of([parts]), sketch_of([[rows]]))


def test_only_the_values_as_float32_count() -> None:
    same = [ROWS, ROWS.astype(np.float32), np.asfortranarray(ROWS), ROWS.reshape(8, 1, 3)]
    assert len({fingerprint_of([[rows]]) for rows in same}) == 1
    assert fingerprint_of([[np.arange(8)]]) == fingerprint_of([[np.arange(8.0)[:, None]]])


@pytest.mark.parametrize("width", [2, 3])
def test_another_value_another_order_and_other_rows_are_told(width: int) -> None:
    rows = np.random.RandomState(1).rand(6, width).astype(np.float32)
    nudged = rows.copy()
    nudged[2, 1] = np.nextafter(nudged[2, 1], np.float32(2))
    exchanged = rows.copy()
    exchanged[0, [0, 1]] = rows[0, [1, 0]]
    others = [rows, nudged, exchanged, rows[::-1], rows[:5], rows * 2]
    assert len({fingerprint_of([[other]]) for other in others}) == len(others)
    assert fingerprint_of([[np.array(["a", "b"])]]) != fingerprint_of([[np.array(["b", "a"])]])


def test_a_wider_batch_between_changes_no_fingerprint() -> None:
    before = fingerprint_of([[ROWS]])
    fingerprint_of([[np.ones((2, 5000))]])
    assert fingerprint_of([[ROWS]]) == before


@pytest.mark.parametrize("targets", [np.arange(8) % 3, np.array(list("abcabcab"))], ids=["numbers", "text"])
def test_rows_have_one_number_in_whatever_order_and_parts_they_come(targets: np.ndarray) -> None:
    order = np.random.RandomState(2).permutation(8)
    whole = rows_anyhow([ROWS, targets])
    parts = [rows_anyhow([ROWS[rows], targets[rows]]) for rows in (order[:3], order[3:])]
    assert sum(parts) % (1 << 64) == whole
    assert rows_anyhow([ROWS.astype(np.float32)[:, None], targets[:, None]]) == whole


def test_other_rows_and_other_targets_of_the_same_rows_have_another_number() -> None:
    targets = np.arange(8) % 3
    swapped = targets[[1, 0, 2, 3, 4, 5, 6, 7]]
    others = [[ROWS[:7], targets[:7]], [ROWS, swapped], [ROWS + 1e-3, targets], [targets, ROWS], [ROWS]]
    numbers = [rows_anyhow(leaves) for leaves in [[ROWS, targets], *others]]
    assert len(set(numbers)) == len(numbers)


def test_some_values_are_kept_of_the_same_places_whatever_the_parts() -> None:
    rows = np.random.RandomState(0).standard_normal((64, 28, 28, 1))
    whole, parts = values_of([[rows], [np.arange(64)]]), values_of([[rows[:30], rows[30:]], [np.arange(64)]])
    assert whole is not None
    assert parts is not None
    assert [array.shape for array in whole] == [(SAMPLE // 784, 28, 28, 1), (64, 1)]
    assert all(np.array_equal(a, b) for a, b in zip(whole, parts))
    wide = values_of([[np.zeros((4, 3 * SAMPLE))]])
    assert wide is not None
    assert wide[0].shape == (1, SAMPLE, 1), "no table, whose columns have sizes of their own"
    assert values_of([[np.array(["a", "b"])]]) is None


def test_rows_have_one_sketch_in_whatever_order_and_parts() -> None:
    random = np.random.RandomState(0)
    x, y = random.standard_normal((50, 6)), random.standard_normal((50, 2))
    turned = random.permutation(50)
    whole = rows_sketch([x, y])
    np.testing.assert_allclose(whole, rows_sketch([x[turned], y[turned]]))
    np.testing.assert_allclose(whole, added(rows_sketch([x[:20], y[:20]]), rows_sketch([x[20:], y[20:]])))
    assert not np.allclose(whole, rows_sketch([x, y[turned]])), "which target stands beside which row"
    assert rows_sketch([np.array(["a"])]) is None
    assert added(whole, None) is None


@pytest.mark.parametrize("shape", [(0,), (0, 4), (0, 2, 3)])
def test_a_replica_without_rows_adds_nothing(shape: tuple[int, ...]) -> None:
    rows = np.arange(2 * int(np.prod(shape[1:])), dtype=np.float32).reshape(2, *shape[1:])
    none = np.zeros(shape, np.float32)
    assert rows_anyhow([none]) == 0
    assert added(rows_sketch([rows]), rows_sketch([none])) == rows_sketch([rows])
    assert [len(leaf) for leaf in values_of([[none, rows]])] == [2]


@pytest.fixture
def put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """What seed_generators() replaces is put back."""
    for owner, name in ((random, "seed"), (np.random, "seed"), (np.random, "default_rng")):
        monkeypatch.setattr(owner, name, getattr(owner, name))


@pytest.mark.usefixtures("put_back")
@pytest.mark.parametrize(
    ("seed", "draw"),
    [
        (lambda *given: random.seed(*given), random.random),
        (lambda *given: random.seed(a=given[0] if given else None), random.random),
        (lambda *given: np.random.seed(*given), np.random.rand),
        (lambda *given: np.random.seed(seed=given[0] if given else None), np.random.rand),
    ],
)
def test_a_stream_that_is_given_no_seed_gets_one(seed: Callable[..., None], draw: Callable[[], float]) -> None:
    def drawn(*given: int) -> float:
        seed(*given)
        return draw()

    own = drawn(7)
    assert drawn() != drawn()
    streams.seed_generators(5)
    first = [drawn(), drawn()]
    streams.seed_generators(5)
    assert [drawn(), drawn()] == first
    assert first[0] != first[1]
    assert drawn(7) == own


@pytest.mark.usefixtures("put_back")
def test_a_generator_without_a_seed_gets_one() -> None:
    def draws() -> list[float]:
        streams.seed_generators(5)
        return [float(np.random.default_rng(seed).random()) for seed in (None, None, 7)]

    own = float(np.random.default_rng(7).random())
    first = draws()
    assert first == draws()
    assert first[0] != first[1]
    assert first[2] == own
