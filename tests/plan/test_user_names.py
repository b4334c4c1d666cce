"""A user's names come out as they went in, whatever they are: nothing is searched for in the user's code."""

from __future__ import annotations

import ast
import functools
import keyword
import re
from collections.abc import Iterator

import libcst as cst
import pytest

from tests.conftest import ROOT
from tests.kit import migrate
from tfmigrate.edit.compose import composed, composed_lines

ROOMS = sorted([*(ROOT / "tfmigrate" / "plan").rglob("*.py"), *(ROOT / "tfmigrate" / "edit").rglob("*.py")])


def _texts() -> Iterator[str]:
    for path in ROOMS:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


@functools.cache
def words() -> list[str]:
    """Every word of every string in the rooms that write code."""
    return sorted({word for text in _texts() for word in re.findall(r"[A-Za-z_]\w*", text)})


PROGRAM = """
import tensorflow as tf
import tensorflow.compat.v1 as tf1
from mine import pick


def input_fn():
    return tf.data.Dataset.from_tensor_slices(([[1.0]], [[0.5]])).batch({6}).repeat(3)


def model_fn(features, labels, mode):
    outputs = tf1.layers.dense(features, 1, use_bias={0}, kernel_initializer=tf1.constant_initializer({1}))
    loss = tf1.losses.huber_loss(labels, outputs, delta={2})
    metrics = {{
        "RATE": tf1.metrics.mean_absolute_error(labels, outputs),
        "it's {{NAME}}": tf1.metrics.mean_squared_error(labels, outputs),
    }}
    step = tf1.train.get_global_step()
    rate = tf1.train.exponential_decay({3}, step, {4}, 0.9)
    train_op = tf1.train.AdamOptimizer(rate, beta1={5}).minimize(loss, global_step=step)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, eval_metric_ops=metrics)


strategy = tf.distribute.MirroredStrategy()
config = tf.estimator.RunConfig(train_distribute=strategy, eval_distribute=strategy)
estimator = tf.estimator.Estimator(model_fn, config=config)
estimator.train(input_fn, steps={7})
"""
PLACES = 8


def _migrated(*codes: str) -> str:
    file = migrate(PROGRAM.format(*codes))
    assert not [finding.message for finding in file.findings if finding.action == "refuse"]
    return file.after


def test_the_words_of_the_tool_are_many() -> None:
    assert {"hole_", "learning_rate", "predictions"} < set(words())
    assert len(words()) > 1000


@pytest.mark.parametrize("form", ["{}", "DECAY_{}", "{}_DECAY", "A{}B"])
def test_names_like_words_of_the_tool_stay(form: str) -> None:
    own = set(re.findall(r"\w+", PROGRAM))
    names = [name for word in words() if not keyword.iskeyword(name := form.format(word)) and name not in own]
    names = [name for name in names if name != "multi_gpu_model"]  # That is a name of the tool's business.
    codes = [f"pick({', '.join(names[place::PLACES])})" for place in range(PLACES)]
    after = _migrated(*codes)
    for code in codes:
        assert code in after


@pytest.mark.parametrize("form", ["{}", "DECAY_{}", "{}_DECAY"])
def test_capitals_stay_in_every_place(form: str) -> None:
    names = ", ".join(form.format(word) for word in words() if word.isupper())
    codes = [f"pick({place}, {names})" for place in range(PLACES)]
    after = _migrated(*codes)
    for code in codes:
        assert code in after


@pytest.mark.parametrize(
    "word", ["RATE", "NAME", "_x", "_1", "_2", "_a", "_y", "_model", "_params", "_layer", "value", "steps", "hole_0"]
)
def test_braces_round_such_a_name_are_no_place_to_fill(word: str) -> None:
    codes = [f'pick({place}, {{{word}}}, f"{{{word}}} {{{{{word}}}}}")' for place in range(PLACES)]
    after = _migrated(*codes)
    for code in codes:
        assert code in after


def test_names_of_metrics_are_quoted_as_they_are() -> None:
    after = _migrated(*["1.0"] * PLACES)
    assert """tf.keras.metrics.MeanAbsoluteError(name="RATE")""" in after
    assert """tf.keras.metrics.MeanSquaredError(name="it's {NAME}")""" in after


@pytest.mark.parametrize("prefix", ["hole_", "hole__", "hole___0", "hole_0, hole__1"])
def test_a_node_is_put_where_it_stands_and_nowhere_else(prefix: str) -> None:
    node = cst.Name("mine")
    written = composed((f"f({prefix}, ", node, f", '{prefix}')"), {node: node}, cst.PartialParserConfig())
    assert cst.Module([]).code_for_node(written) == f"f({prefix}, mine, '{prefix}')"


def test_the_lines_of_a_string_stay_where_they_are() -> None:
    node = cst.parse_expression('"""\none\n  two"""')
    (made,) = composed_lines(("def f():\n    return ", node), {node: node}, cst.PartialParserConfig())
    space: dict[str, object] = {}
    exec(cst.Module([]).code_for_node(made), space)
    assert space["f"]() == "\none\n  two"  # type: ignore[operator]


def test_arms_that_differ_in_a_text_are_not_the_same() -> None:
    program = """
from keras.models import Sequential
from keras.layers import Dense
from keras.utils import multi_gpu_model
model = Sequential([Dense(1, input_shape=(2,))])
if G > 1:
    parallel = multi_gpu_model(model, gpus=G)
    print("parallel")
else:
    parallel = model
    print("model")
parallel.compile("sgd", "mse")
parallel.fit(x, y)
"""
    file = migrate("G = 2\nx = y = None\n" + program)
    assert file.changed
    assert 'print("parallel")' in file.after
    assert 'print("model")' in file.after
