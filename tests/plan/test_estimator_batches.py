"""What makes the batches of an input function, and what may be done to them."""

from __future__ import annotations

import pytest

from tests.plan.test_estimator import migrated, refusal

REPEATED = ".repeat().batch(8)"
SIZE = "8 * strategy.num_replicas_in_sync"
IMPORTED = ("import tensorflow as tf\n", "import tensorflow as tf\nfrom tensorflow.contrib.data import map_and_batch\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("parse, 8", f"parse, {SIZE}"),
        ("parse, batch_size=8, num_parallel_batches=4", f"parse, batch_size={SIZE}, num_parallel_batches=4"),
        ("map_func=parse, batch_size=8", f"map_func=parse, batch_size={SIZE}"),
    ],
)
@pytest.mark.parametrize("home", ["tf.contrib.data.", "tf.data.experimental."])
def test_map_and_batch_has_the_batch_of_all_replicas(home: str, old: str, new: str) -> None:
    file = migrated((".batch(8)", f".repeat().apply({home}map_and_batch({old}))"))
    after = " ".join(file.after.split()).replace("( ", "(").replace(" )", ")")
    assert f".repeat().apply(tf.data.experimental.map_and_batch({new}))" in after
    assert "drop_remainder" not in file.after


@pytest.mark.parametrize("remainder", ["", ", drop_remainder=True", ", None, True"])
def test_its_last_round_is_dropped(remainder: str) -> None:
    after = migrated((".batch(8)", f".apply(tf.data.experimental.map_and_batch(parse, 8{remainder}))")).after
    assert after.count("drop_remainder=True") + after.count(", None, True") == 1


def test_imported_by_its_name_it_is_found_too() -> None:
    after = migrated(IMPORTED, (".batch(8)", ".repeat().apply(map_and_batch(parse, 8))")).after
    assert f".apply(map_and_batch(parse, {SIZE}))" in after


def test_a_remainder_that_is_dropped_by_place_is_dropped_once() -> None:
    assert f".batch({SIZE}, True)" in migrated((".batch(8)", ".batch(8, True)")).after


@pytest.mark.parametrize(
    "made", ["shuffle_and_repeat(100)", "shuffle_and_repeat(100, None, 1)", "shuffle_and_repeat(100, count=-1)"]
)
def test_data_that_is_shuffled_and_repeated_has_no_end(made: str) -> None:
    after = migrated((".batch(8)", f".apply(tf.contrib.data.{made}).batch(8)")).after
    assert "tf.data.experimental.shuffle_and_repeat" in after
    assert "drop_remainder" not in after
    counted = migrated((".batch(8)", ".apply(tf.contrib.data.shuffle_and_repeat(100, 2)).batch(8)")).after
    assert "drop_remainder=True" in counted


@pytest.mark.parametrize(
    "function",
    ["lambda x, y: (x, y)", "lambda x, y: ({'x': x}, y)", "lambda x, y: ({'x': x['a']['b']}, y['c'])"],
)
def test_parts_of_batches_may_be_put_together_anew(function: str) -> None:
    assert f".batch({SIZE}).map({function})" in migrated((".batch(8)", f"{REPEATED}.map({function})")).after


@pytest.mark.parametrize(
    "map_",
    [
        "lambda x, y: (x[0], y)",
        "lambda x, y: (x[:4], y)",
        "lambda x, y: (x - mean(x), y)",
        "lambda x, y: (x, z)",
        "lambda x, y: ({**x}, y)",
        "lambda x, y: (x, y), num_parallel_calls=4",
        "parse",
    ],
)
def test_other_functions_of_a_batch_are_refused(map_: str) -> None:
    assert refusal((".batch(8)", f"{REPEATED}.map({map_})")).startswith("TFM116")


@pytest.mark.parametrize("after_batch", [".repeat()", ".map(parse)", ".take(4)"])
def test_what_works_on_the_batches_of_map_and_batch_is_refused(after_batch: str) -> None:
    batch = f".apply(tf.data.experimental.map_and_batch(parse, 8)){after_batch}"
    assert refusal((".batch(8)", batch)).startswith("TFM116")


SHORT = "a last round completed by a partial batch is now left out"
FILLED = "a partial batch at the end of an epoch is now filled from the next epoch"
ROWS = "([[1.0], [2.0]], [[0.5], [1.0]])"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (((ROWS, "rows"),), SHORT),
        (((ROWS, "rows"), (".batch(8)", ".repeat(3).batch(8)")), SHORT),
        (((ROWS, "rows"), (".batch(8)", ".batch(8).repeat(3)")), FILLED),
        (((ROWS, "rows"), (".batch(8)", ".batch(8).repeat()")), FILLED),
        (((".batch(8)", ".batch(3)"),), SHORT),
        (((".batch(8)", ".batch(2)"),), ""),
        (((".batch(8)", ".batch(1).repeat(3)"),), ""),
        (((ROWS, "rows"), (".batch(8)", ".repeat().batch(8)")), ""),
        (((ROWS, "rows"), (".batch(8)", ".batch(8, drop_remainder=True)")), ""),
    ],
)
def test_a_batch_that_is_not_full_is_told(changes: tuple[tuple[str, str], ...], said: str) -> None:
    (found,) = [finding.message for finding in migrated(*changes).findings if finding.code == "TFM012"]
    assert ("partial batch" in found) is bool(said)
    assert said in found
