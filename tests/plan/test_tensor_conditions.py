"""A Python condition on a tensor in a loss, a metric or a layer (TFM296)."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, migrate
from tfmigrate.result import FileResult
from tfmigrate.settings import Settings

PROGRAM = """\
import numpy as np
import tensorflow as tf
from keras import backend as K
from keras.layers import Activation, Dense, Lambda, Layer
from keras.models import Sequential
from keras.utils import multi_gpu_model

LIMIT = 3
{code}
model = Sequential([Dense(1, input_shape=(4,)), *layers])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", loss, metrics=metrics{words})
parallel.train_on_batch(x, y)
"""


def program(code: str, words: str = "") -> str:
    given = "".join(f"{name} = {value}\n" for name, value in (("loss", "'mse'"), ("metrics", "[]"), ("layers", "[]")))
    return PROGRAM.format(code=given + code, words=words)


def of_metric(condition: str, before: str = "", after: str = "") -> str:
    lines = [*before.splitlines(), f"if {condition}:", "    return K.mean(y_pred)", "return K.mean(y_true)"]
    body = "\n".join(f"    {line}" for line in lines)
    return program(f"\n\ndef metric(y_true, y_pred):\n{body}\n\n\nmetrics = [metric]\n{after}")


def message(file: FileResult) -> str:
    (found,) = (finding.message for finding in file.findings if finding.code == "TFM296")
    return found


@pytest.mark.parametrize(
    ("condition", "always"),
    [
        ("K.sum(y_true) == 0", "False"),
        ("0 == K.sum(y_true)", "False"),
        ("K.sum(y_true) != 0", "True"),
        ("K.sum(y_true) in (0, 1)", "False"),
        ("not K.sum(y_true) == 0", "False"),
        ("LIMIT > 2 and tf.reduce_sum(y_true) == 0", "False"),
        ("K.shape(y_true)[0] == 1", "False"),
        ("K.max(y_true * 2) - 1 == LIMIT", "False"),
        ("tf.cond(K.sum(y_true) > 0, lambda: 1, lambda: 0) == 1", "False"),
    ],
)
def test_what_tensorflow_1_compared_as_objects(condition: str, always: str) -> None:
    text = of_metric(condition)
    assert f"always {always}" in message(check_migrated(text))
    for_two = check_migrated(text, Settings(from_version="tensorflow==2.3.0"))
    assert "always" not in message(for_two)


@pytest.mark.parametrize(
    "condition",
    ["K.sum(y_true) > 0", "K.any(y_true > 2)", "tf.equal(K.max(y_true), 1)", "not K.all(K.equal(y_true, y_pred))"],
)
def test_what_needed_a_value_before(condition: str) -> None:
    assert "tests the value" in message(check_migrated(of_metric(condition)))


@pytest.mark.parametrize(
    "before",
    [
        "total = K.sum(y_true)",
        "total = K.cast(y_true, 'float32')\ntotal = K.sum(total)",
        "total = K.sum(y_true)\ntotal /= 2",
        "total, other = K.sum(y_true), 3",
    ],
)
def test_names_are_followed(before: str) -> None:
    code = of_metric("total == 0", before)
    assert len(actions(check_migrated(code), "TFM296")) == (0 if "/=" in before else 1)


@pytest.mark.parametrize(
    "code",
    [
        "def loss(y_true, y_pred):\n    return K.mean(y_pred) if K.sum(y_true) == 0 else K.mean(y_true, axis=-1)\n",
        "loss = lambda y_true, y_pred: K.mean(y_pred if K.sum(y_true) == 0 else y_true, axis=-1)\n",
        "def inner(a):\n    return a if K.sum(a) == 0 else -a\n\n\n"
        "def loss(y_true, y_pred):\n    return K.mean(inner(y_pred), axis=-1)\n",
        "layers = [Lambda(lambda x: x if K.sum(x) == 0 else x + 1)]\n",
        "def double(x, times=2):\n    while K.sum(x) == 0:\n        x = x * times\n    return x\n\n\n"
        "layers = [Lambda(double), Lambda(double), Activation(double)]\n",
        "class Twice(Layer):\n    def call(self, x):\n        if K.sum(x) == 0:\n            return x\n"
        "        return 2 * x\n\n\nlayers = [Twice()]\n",
    ],
)
def test_where_such_code_stands(code: str) -> None:
    expected = "warn" if "while" in code else "rewrite"
    assert actions(check_migrated(program(code)), "TFM296") == [expected]


@pytest.mark.parametrize(
    ("condition", "written"),
    [
        ("K.sum(y_true) == 0 and LIMIT", "if False and LIMIT:"),
        ("tf.size(tf.gather_nd(y_true, tf.where(y_pred > 0))) != 0 and LIMIT > 2", "if True and LIMIT > 2:"),
        ("not K.max(y_true) in (0, 1)", "if not False:"),
    ],
)
def test_a_program_of_standalone_keras_keeps_the_branch_that_it_took(condition: str, written: str) -> None:
    file = check_migrated(of_metric(condition))
    assert f"    {written}\n" in file.after
    assert "is written" in message(file)


@pytest.mark.parametrize(("condition", "stays"), [("K.sum(y_true) == 0", 0), ("K.sum(y_true) != 0", 1)])
def test_an_if_that_asks_nothing_else_goes(condition: str, stays: int) -> None:
    """`if False:` would be asked about."""
    before = check_migrated(of_metric("LIMIT")).after
    body = before[before.index("    if LIMIT:\n") :].splitlines()[1].strip()
    file = check_migrated(of_metric(condition))
    assert "    if " not in file.after
    assert file.after.count(f"\n    {body}\n") == stays
    assert "The branch that ran stays" in message(file)


@pytest.mark.parametrize(
    "text",
    [
        of_metric("K.sum(y_true) == 0").replace("from keras", "from tensorflow.keras"),
        of_metric("y_true == 0"),
        of_metric("K.sum(y_true) > 0"),
    ],
)
def test_a_value_that_may_have_been_read_stays(text: str) -> None:
    file = check_migrated(text)
    assert actions(file, "TFM296") == ["warn"]


def test_a_tensor_under_the_name_of_a_parameter_is_one() -> None:
    before = "at = tf.where(K.equal(y_true[:, -1], 1))"
    after = "y_true = tf.gather_nd(y_true, at)\n"
    text = of_metric("tf.size(at) == 0", before).replace("return K.mean(y_true)", after + "    return K.mean(y_true)")
    assert "    if " not in check_migrated(text).after


@pytest.mark.parametrize(
    "condition",
    [
        "K.ndim(y_true) == 2",
        "K.int_shape(y_true)[0] == 1",
        "y_true.shape[0] == 1",
        "len(y_true.shape) > 1",
        "K.image_data_format() == 'channels_first'",
        "K.backend() == 'tensorflow'",
        "y_true is None",
        "y_true == None",
        "LIMIT == 3",
        "K.floatx() == 'float32'",
        "np.sum(LIMIT) == 3",
        "K.dtype(y_pred) != 'float32'",
        "isinstance(y_true, list) and LIMIT",
        "K.epsilon() > 1e-8",
        "K.sum(LIMIT) == 3",
        "unknown(y_true) == 3",
    ],
)
def test_what_is_no_tensor(condition: str) -> None:
    assert not actions(check_migrated(of_metric(condition)), "TFM296")


@pytest.mark.parametrize(
    "code",
    [
        "def report(y_true):\n    if K.sum(y_true) == 0:\n        print(y_true)\n",
        "@tf.function\ndef loss(y_true, y_pred):\n    if K.sum(y_true) == 0:\n        return y_pred\n"
        "    return y_true\n",
        "def loss(y_true, y_pred, weight=1):\n    if weight == 1:\n        return y_pred\n    return y_true\n",
        "def loss(y_true, y_pred):\n    y_true = LIMIT\n    return y_pred if y_true == 3 else -y_pred\n",
        "class Twice(Layer):\n    def call(self, x, training=None):\n        if training:\n            return x\n"
        "        return 2 * x if self.rate > 0 else x\n\n\nlayers = [Twice()]\n",
    ],
)
def test_what_is_left_alone(code: str) -> None:
    assert not actions(migrate(program(code)), "TFM296")


def test_a_program_that_runs_eagerly_may_ask() -> None:
    text = of_metric("K.sum(y_true) == 0")
    assert not actions(migrate(text.replace("metrics=metrics", "metrics=metrics, run_eagerly=True")), "TFM296")
    assert not actions(migrate(text + "tf.config.experimental_run_functions_eagerly(True)\n"), "TFM296")
