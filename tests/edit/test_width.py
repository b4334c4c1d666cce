# ruff: noqa: E501
"""What a migration made too wide is broken; what it did not write stays."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from tfmigrate.edit.width import fitted

LONG = "categorical_crossentropy"
CALL = f"model.compile(loss='{LONG}', optimizer=Adadelta(learning_rate=1.0, rho=0.95, epsilon=1e-7), metrics=['a'])\n"


@pytest.mark.parametrize(
    ("line", "broken"),
    [
        (
            f"model.compile(optimizer=SGD(learning_rate=0.05, momentum=0.9), loss='{LONG}', metrics=['a'])",
            f"""
            model.compile(
                optimizer=SGD(learning_rate=0.05, momentum=0.9), loss='{LONG}', metrics=['a']
            )
            """,
        ),
        (
            CALL.strip(),
            f"""
            model.compile(
                loss='{LONG}',
                optimizer=Adadelta(learning_rate=1.0, rho=0.95, epsilon=1e-7),
                metrics=['a'],
            )
            """,
        ),
        (
            "data = tf.data.Dataset.from_tensor_slices((features, labels)).batch(8 * strategy.num_replicas_in_sync, True)",
            """
            data = tf.data.Dataset.from_tensor_slices((features, labels)).batch(
                8 * strategy.num_replicas_in_sync, True
            )
            """,
        ),
        (
            "eval_input_fn = lambda: tf.data.Dataset.from_tensor_slices(({'x': inputs[64:100]}, targets[64:100])).batch(16)",
            """
            eval_input_fn = lambda: tf.data.Dataset.from_tensor_slices(
                ({'x': inputs[64:100]}, targets[64:100])
            ).batch(16)
            """,
        ),
        (
            "inputs = {key: tf.keras.Input(spec.shape[1:], name=key, dtype=spec.dtype, sparse=False) for key, spec in f.items()}",
            """
            inputs = {
                key: tf.keras.Input(spec.shape[1:], name=key, dtype=spec.dtype, sparse=False)
                for key, spec in f.items()
            }
            """,
        ),
        (
            "from tensorflow.keras.layers import Activation, BatchNormalization, Conv2D, Dense, Dropout, Flatten, Input",
            """
            from tensorflow.keras.layers import (
                Activation, BatchNormalization, Conv2D, Dense, Dropout, Flatten, Input
            )
            """,
        ),
        (
            "use(map(lambda first, second: first + second, some_rows_of_the_data), other_rows_of_the_data, more_rows=rows[1, 2])",
            """
            use(
                map(lambda first, second: first + second, some_rows_of_the_data),
                other_rows_of_the_data,
                more_rows=rows[1, 2],
            )
            """,
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_line_is_broken_inside_its_brackets(line: str, broken: str, newline: str) -> None:
    after = fitted("", line + newline)
    expected = dedent(broken).lstrip("\n")
    assert after == expected.replace("\n", newline)
    assert max(map(len, after.splitlines())) <= 100
    assert ast.dump(ast.parse(after)) == ast.dump(ast.parse(line))
    assert fitted("", after) == after


@pytest.mark.parametrize(
    "line",
    [
        f"x = 1  # {'why ' * 40}",
        f"x = '{'long ' * 40}'",
        f"x = f'{{{'a' * 100}[0, 1]}}'",
        f"x = {' + '.join(['value'] * 30)}",
        f"f({'a' * 120}[0])()",
        f"# {'why ' * 40}(a, b)",
        f"'''\n{'f(a, b), ' * 20}\n'''",
    ],
)
def test_a_line_that_no_bracket_helps_stays_valid(line: str) -> None:
    after = fitted("", line + "\n")
    assert ast.dump(ast.parse(after)) == ast.dump(ast.parse(line))
    if "f(aaa" not in line:
        assert after == line + "\n"


def test_lines_of_the_user_stay() -> None:
    body = "with scope:\n    " + CALL
    assert fitted(CALL, body) == body
    assert fitted(CALL, CALL + "y = 1\n") == CALL + "y = 1\n"


def test_a_file_with_wider_lines_sets_the_width() -> None:
    own = f"# {'w' * 113}\n"
    call = CALL.replace(", epsilon=1e-7", "")
    assert 100 < len(call.strip()) <= 115 < 120 < len(CALL.strip())
    assert fitted(own, own + call) == own + call
    assert fitted("", call) != call
    far = f"# {'w' * 300}\n"
    assert fitted(far, far + CALL) != far + CALL


def test_a_bracket_over_several_lines_is_filled() -> None:
    after = fitted(
        "",
        "calls = [EarlyStopping(monitor='val_loss', patience=5),\n"
        "         ModelCheckpoint(os.path.join(here, 'best.weights.h5'), monitor='val_loss', save_best_only=True,\n"
        "                         save_weights_only=True)]\n",
    )
    assert after.splitlines()[1:3] == [
        "         ModelCheckpoint(os.path.join(here, 'best.weights.h5'), monitor='val_loss',",
        "                         save_best_only=True,",
    ]


def test_what_is_opened_in_a_line_of_a_bracket_stands_under_that() -> None:
    call = "tf.keras.optimizers.schedules.InverseTimeDecay(settings.get('rate', 0.01), 1, settings.get('decay', 0.0))"
    after = fitted("", f"optimizer = SGD(learning_rate={call},\n                momentum=0.9)\n")
    assert after == (
        "optimizer = SGD(learning_rate=tf.keras.optimizers.schedules.InverseTimeDecay(\n"
        "                    settings.get('rate', 0.01), 1, settings.get('decay', 0.0)\n"
        "                ),\n"
        "                momentum=0.9)\n"
    )


def test_tabs_stay_tabs() -> None:
    lines = fitted("", "if x:\n\t" + CALL).splitlines()
    assert lines[1:3] == ["\tmodel.compile(", f"\t\tloss='{LONG}',"]


def test_a_line_that_was_too_wide_is_not_broken_for_a_few_words() -> None:
    names = ", ".join(f"Conv{number}D" for number in range(20))
    before = f"from keras.layers import {names}\n"
    after = f"from tensorflow.keras.layers import {names}\n"
    assert len(before) > 120
    assert fitted(before, after) == after
    assert fitted(before, after + f"from tensorflow.keras.metrics import {names.lower()}\n").count("(\n") == 1


def test_an_import_behind_backslashes_is_put_into_brackets() -> None:
    one, two = ", ".join(f"One{n}" for n in range(14)), ", ".join(f"Two{n}" for n in range(4))
    before = f"from keras.layers import {one}, \\\n    {two}\nx = 1\n"
    after = before.replace("keras.", "tensorflow.keras.")
    assert fitted(before, before) == before
    assert fitted(before, after) == f"from tensorflow.keras.layers import (\n    {one}, {two}\n)\nx = 1\n"


def test_lines_behind_an_import_in_brackets_do_not_set_the_indentation() -> None:
    start = "from keras.callbacks import (ModelCheckpoint,\n                             TensorBoard)\n\nif True:\n    pass\n"
    assert fitted(start, start + CALL).endswith(
        f"model.compile(\n    loss='{LONG}',\n    optimizer=Adadelta(learning_rate=1.0, rho=0.95, epsilon=1e-7),\n    metrics=['a'],\n)\n"
    )
