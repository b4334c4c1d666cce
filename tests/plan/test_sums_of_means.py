"""Losses that are a mean over the batch, with arithmetic round it: one value for each sample has that mean (TFM403)."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, migrate
from tfmigrate.result import FileResult

PROGRAM = """\
from keras import backend as K
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

WEIGHT = 0.5


def loss(y_true, y_pred):
{body}


model = Sequential([Dense(2, activation="softmax", input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile("sgd", {given})
parallel_model.fit(batches)
"""
D = "K.square(y_true - y_pred)"
E = "K.abs(y_true - y_pred)"


def migrated(body: str, given: str = "loss") -> FileResult:
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    return migrate(PROGRAM.format(body=lines, given=given))


@pytest.mark.parametrize(
    ("body", "written"),
    [
        (f"return -K.mean({D})", f"return -K.mean({D}, axis=-1)"),
        ("return -K.mean(y_true[:, 0] * y_pred[:, 0])", "return -(y_true[:, 0] * y_pred[:, 0])"),
        ("return 2 - K.mean(y_pred[:, 0] - 1) / 3", "return 2 - (y_pred[:, 0] - 1) / 3"),
        ("return -K.mean(-y_pred[:, 0])", "return -(-y_pred[:, 0])"),
        ("return K.mean(y_true[:, 0] - y_pred[:, 0])", "return y_true[:, 0] - y_pred[:, 0]"),
        ("a = y_pred[:, 0]\nb = K.mean(a)\nreturn -b", "b = a\n    return -b"),
        ("b = K.mean(y_true[:, 0] - y_pred[:, 0])\nreturn -b", "b = y_true[:, 0] - y_pred[:, 0]\n    return -b"),
        (f"return 1 - K.mean({D})", f"return 1 - K.mean({D}, axis=-1)"),
        (f"return WEIGHT * K.mean({D})", f"return WEIGHT * K.mean({D}, axis=-1)"),
        (f"return K.mean({D}) / 2", f"return K.mean({D}, axis=-1) / 2"),
        (f"return 2 * (1.5 - K.mean({D}))", f"return 2 * (1.5 - K.mean({D}, axis=-1))"),
        (f"return K.mean({D}) + 2 * K.mean({E})", f"return K.mean({D}, axis=-1) + 2 * K.mean({E}, axis=-1)"),
        (f"a = K.mean({D})\nreturn -a", f"a = K.mean({D}, axis=-1)\n    return -a"),
        (f"return K.mean({D}) - K.mean(y_pred[:, 0])", f"return K.mean({D}, axis=-1) - y_pred[:, 0]"),
    ],
)
def test_each_mean_becomes_what_it_is_the_mean_of(body: str, written: str) -> None:
    file = migrated(body)
    assert f"    {written}\n" in file.after
    assert "whole_batch" not in file.after


@pytest.mark.parametrize(
    "body",
    [
        f"return 1 / K.mean({D})",
        f"return K.mean({D}) * K.mean({E})",
        f"return K.mean({D}) ** 2",
        f"return 2 ** K.mean({D})",
        f"return K.sqrt(K.mean({D}))",
        f"return K.mean({D}) + K.sum({E})",
        f"return K.mean({D}) + K.max(y_pred)",
        f"return {E} - K.mean({D})",
        f"return K.mean({D}) / K.mean({E})",
        f"return K.mean({D} - K.mean({E}))",
        f"return K.mean({D}) * scale",
        f"return not K.mean({D})",
        f"a = K.mean({D})\na += 1\nreturn a",
    ],
)
def test_any_other_is_given_the_whole_batch(body: str) -> None:
    file = migrated(body)
    assert "whole_batch(loss)" in file.after
    assert "axis=-1" not in file.after


@pytest.mark.parametrize("body", [f"return -K.mean({D}, axis=-1)", f"return K.mean({D}, axis=-1) + WEIGHT", "return 0"])
def test_one_value_for_each_sample_stays(body: str) -> None:
    file = migrated(body)
    assert body in file.after
    assert not actions(file, "TFM403")


@pytest.mark.parametrize("body", [f"return -K.mean({D})", f"return 1 - K.mean({D})", f"a = K.mean({D})\nreturn a + 1"])
def test_a_metric_that_is_such_a_mean_is_the_mean_of_the_parts(body: str) -> None:
    file = migrated(body, '"mse", metrics=[loss]')
    assert not actions(file, "TFM403")


def test_a_metric_of_another_kind_is_not() -> None:
    assert actions(migrated(f"return K.sqrt(K.mean({D}))", '"mse", metrics=[loss]'), "TFM403")


def test_the_values_of_several_terms_have_one_shape() -> None:
    """`y_pred[:, 0, 0]` has one axis where the mean over the last axis of an image leaves two."""
    file = migrated(f"return K.mean({D}) + K.mean(y_pred[:, 0, 0])")
    assert "whole_batch(loss)" in file.after


def test_a_program_of_such_losses_is_migrated() -> None:
    check_migrated(PROGRAM.format(body=f"    return -K.mean({D})", given="loss"))
