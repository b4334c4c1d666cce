"""Methods and attributes that a Dataset of TensorFlow 2 lacks."""

from __future__ import annotations

import pytest

from tests.kit import actions, migrate
from tfmigrate.result import FileResult

HEAD = """\
import tensorflow as tf
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model


def read(names):
    return tf.data.TFRecordDataset(names).map(parsed).repeat().batch(8)


rows = tf.data.Dataset.from_tensor_slices((inputs, targets)).repeat().batch(8)
parallel = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), 2)
parallel.compile("sgd", "hinge")
"""


def lines(file: FileResult) -> str:
    return file.after[file.after.index("hinge") :].partition("\n")[2]


def found(file: FileResult) -> list[str]:
    return actions(file, "TFM225")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("fit(rows.make_one_shot_iterator(), steps_per_epoch=9)", "fit(rows, steps_per_epoch=9)"),
        ("fit(x=read('a').make_one_shot_iterator(), steps_per_epoch=9)", "fit(x=read('a'), steps_per_epoch=9)"),
        ("evaluate(rows.make_one_shot_iterator(), steps=3)", "evaluate(rows, steps=3)"),
        ("predict(rows.make_one_shot_iterator(), steps=3)", "predict(rows, steps=3)"),
    ],
)
def test_keras_is_given_the_dataset(old: str, new: str) -> None:
    file = migrate(f"{HEAD}parallel.{old}\n")
    assert lines(file) == f"parallel.{new}\n"
    assert found(file) == ["rewrite"]


def test_an_iterator_with_a_name_that_one_call_reads_is_the_dataset() -> None:
    file = migrate(HEAD + "steps = rows.make_one_shot_iterator()\nparallel.fit(steps, steps_per_epoch=9)\n")
    assert lines(file) == "steps = rows\nparallel.fit(steps, steps_per_epoch=9)\n"


def test_a_validation_that_begins_anew_is_told() -> None:
    validation = "validation_data=rows.make_one_shot_iterator(), validation_steps=2"
    file = migrate(f"{HEAD}parallel.fit(rows, steps_per_epoch=9, {validation})\n")
    assert "validation_data=rows, validation_steps=2" in lines(file)
    assert any("each validation starts with its first batch" in finding.message for finding in file.findings)


@pytest.mark.parametrize(
    "code",
    [
        "x, y = rows.make_one_shot_iterator().get_next()\nprint(x, y)\nparallel.fit(rows, steps_per_epoch=9)\n",
        "steps = rows.make_initializable_iterator()\nparallel.fit(steps, steps_per_epoch=9)\n",
        "steps = rows.make_one_shot_iterator()\nparallel.fit(steps, steps_per_epoch=9)\nprint(steps.get_next())\n",
    ],
)
def test_any_other_use_of_an_iterator_is_told(code: str) -> None:
    file = migrate(HEAD + code)
    assert lines(file) == code
    assert found(file) == ["warn"]


def test_the_types_of_a_dataset_are_asked_of_a_function() -> None:
    file = migrate(HEAD + "print(rows.output_shapes, rows.output_types, parallel.output_shapes)\n")
    v1 = "tf.compat.v1.data.get_output"
    assert lines(file) == f"print({v1}_shapes(rows), {v1}_types(rows), parallel.output_shapes)\n"


def test_a_class_of_the_program_may_have_methods_of_that_name() -> None:
    own = "class Rows:\n    def make_one_shot_iterator(self):\n        return iter([])\n\n\n"
    file = migrate(HEAD + own + "print(Rows().make_one_shot_iterator())\nparallel.fit(rows, steps_per_epoch=9)\n")
    assert not found(file)
