"""Losses of Keras without a reduction, summed and divided by the batch, as the guides to strategies write them."""

from __future__ import annotations

import pytest

from tests.plan.test_estimator import migrated, refusal

LOSS = "    loss = tf1.losses.mean_squared_error(labels, outputs)\n"
EACH = "tf.keras.losses.MeanSquaredError(reduction=tf.keras.losses.Reduction.NONE)(labels, outputs)"
ROWS = ("([[1.0], [2.0]], [[0.5], [1.0]])", "rows")


@pytest.mark.parametrize(
    "lines",
    [
        f"    loss = tf.reduce_sum({EACH}) * (1. / 8)\n",
        f"    each = {EACH}\n    loss = tf.reduce_sum(each) / 8\n",
        f"    loss = {EACH}\n    loss = tf.reduce_sum(loss) * (1 / SIZE)\n",
        f"    loss = tf.reduce_mean({EACH})\n",
        f"    loss = tf.reduce_mean({EACH.replace('tf.keras.losses.Reduction.NONE', repr('none'))})\n",
    ],
)
def test_a_sum_over_the_batch_is_the_mean(lines: str) -> None:
    size = [("def input_fn", "SIZE = 8\n\n\ndef input_fn"), (".batch(8)", ".batch(SIZE)")] if "SIZE" in lines else []
    after = migrated(ROWS, *size, (LOSS, lines)).after
    assert "loss=tf.keras.losses.MeanSquaredError(),\n" in after


def test_the_settings_of_the_loss_stay() -> None:
    each = "tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction='none')"
    after = migrated(ROWS, (LOSS, f"    loss = tf.reduce_sum({each}(y_true=labels, y_pred=outputs)) / 8\n")).after
    assert "loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),\n" in after


@pytest.mark.parametrize(
    "loss",
    [
        f"tf.reduce_sum({EACH}) / 9",
        f"tf.reduce_sum({EACH}) / size",
        f"tf.reduce_sum({EACH}) * (2. / 8)",
        f"tf.reduce_sum({EACH}) * 8",
        f"tf.reduce_sum({EACH})",
        f"tf.reduce_sum({EACH}, axis=0) / 8",
        EACH,
        f"tf.reduce_sum({EACH.replace('NONE', 'SUM')}) / 8",
        f"tf.reduce_sum({EACH.replace('labels', 'outputs')}) / 8",
        f"tf.reduce_sum({EACH.replace('labels', 'tf.one_hot(labels, 2)')}) / 8",
    ],
)
def test_other_sums_are_refused(loss: str) -> None:
    assert refusal(ROWS, (LOSS, f"    loss = {loss}\n")).startswith("TFM11")


def test_a_last_batch_that_is_not_full_is_refused() -> None:
    sums = (LOSS, f"    loss = tf.reduce_sum({EACH}) / 8\n")
    assert "not always divided" in refusal(ROWS, (".batch(8)", ".batch(8, drop_remainder=False)"), sums)
