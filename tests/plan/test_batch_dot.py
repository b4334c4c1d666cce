"""K.batch_dot of four dimensions (TFM237)."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated
from tests.plan.whole import migrated
from tfmigrate.settings import Settings


@pytest.mark.parametrize(
    ("axes", "done"), [("(3, 2)", ["warn"]), ("[2, 3]", ["warn"]), ("[2, 1]", []), ("2", []), ("a", [])]
)
def test_axes_tell_of_four_dimensions(axes: str, done: list[str]) -> None:
    lines = f"p = K.batch_dot(x, y, axes={axes})"
    assert migrated(lines, "TFM237") == (lines, done)


def test_without_axes_nothing_tells() -> None:
    assert migrated("p = K.batch_dot(x, y)", "TFM237")[1] == []


@pytest.mark.parametrize(
    ("written_for", "imported", "old"),
    [
        ("keras==2.2.4", "keras", True),
        ("keras==2.3.1", "keras", False),
        ("tensorflow==1.14", "tensorflow.keras", True),
        ("tensorflow==2.1", "tensorflow.keras", False),
        ("tensorflow==1.14", "keras", False),
    ],
)
def test_a_function_keeps_the_old_one_where_the_program_was_written_for_it(
    written_for: str, imported: str, old: bool
) -> None:
    text = PROGRAM.format(keras=imported)
    file = check_migrated(text, Settings(from_version=written_for))
    assert ("def batch_dot(x, y, axes=None):" in file.after) is old
    assert ("    p = batch_dot(x, y, [2, 3])\n    return batch_dot(p, y, [2, 2])\n" in file.after) is old
    assert set(actions(file, "TFM237")) == {"rewrite" if old else "warn"}


PROGRAM = """\
from {keras} import backend as K
from {keras}.layers import Dense
from {keras}.models import Sequential
from {keras}.utils import multi_gpu_model


def routed(x, y):
    p = K.batch_dot(x, y, [2, 3])
    return K.batch_dot(p, y, [2, 2])


model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
model.compile("sgd", "mse")
"""
