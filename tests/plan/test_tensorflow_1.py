"""Names and arguments of TensorFlow 1 (TFM225)."""

from __future__ import annotations

import pytest

from tests.plan.whole import migrated


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("tf.nn.softmax(x, dim=-1)", "tf.nn.softmax(x, axis=-1)"),
        ("tf.reduce_sum(x, reduction_indices=1, keep_dims=True)", "tf.reduce_sum(x, axis=1, keepdims=True)"),
        ("tf.expand_dims(x, dim=0)", "tf.expand_dims(x, axis=0)"),
        ("tf.matrix_band_part(x, 0, -1)", "tf.linalg.band_part(x, 0, -1)"),
        ("tf.squeeze(tf.rsqrt(x), squeeze_dims=[1])", "tf.squeeze(tf.math.rsqrt(x), axis=[1])"),
        ("tf.assign(v, x)", "tf.compat.v1.assign(v, x)"),
        ("tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=x)",
         "tf.compat.v1.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=x)"),
    ],
)  # fmt: skip
def test_what_has_an_equal_is_written(before: str, after: str) -> None:
    text, done = migrated(before, "TFM225")
    assert text == after
    assert set(done) == {"rewrite"}


def test_an_import_moves_too() -> None:
    text, done = migrated("from tensorflow import matrix_transpose\nmatrix_transpose(x)", "TFM225")
    assert text == "from tensorflow.linalg import matrix_transpose\nmatrix_transpose(x)"
    assert done == ["rewrite"]


@pytest.mark.parametrize(
    "lines",
    [
        "tf.compat.v1.reduce_sum(x, keep_dims=True)",
        "np.sum(x, keepdims=True)",
        "tf.reduce_sum(x, axis=1, keepdims=True)",
        "tf.placeholder(tf.float32)",
        "tf.Session()",
        "tf.test.main()",
        "K.sum(x, axis=1)",
        "tf = object()\ntf.rsqrt(x)",
    ],
)
def test_what_has_none_or_is_another_stays(lines: str) -> None:
    assert migrated(lines, "TFM225") == (lines, [])
