"""Functions of NumPy on the tensors of losses, metrics and layers."""

from __future__ import annotations

import pytest

from tests.kit import migrate

HEAD = """\
import numpy as np
from keras import backend as K
from keras.layers import Activation, Dense, Lambda, Layer
from keras.models import Sequential
from keras.utils import multi_gpu_model

WEIGHTS = np.array([1.0, 2.0])
"""
TAIL = """
model = Sequential([Dense(2, input_shape=(4,)), {layer}])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", {loss}, metrics=["mae"])
parallel.fit(x, y, batch_size=8)
"""


def program(functions: str, loss: str = '"mse"', layer: str = "Dense(2)") -> str:
    return HEAD + functions + TAIL.format(loss=loss, layer=layer)


def loss(*lines: str) -> str:
    return program("\n\ndef error(y_true, y_pred):\n    " + "\n    ".join(lines) + "\n\n", "error")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (loss("return K.mean(np.abs(y_pred - y_true), axis=-1)"), "K.mean(tf.abs(y_pred - y_true), axis=-1)"),
        (loss("off = y_pred - y_true", "return np.absolute(off)"), "return tf.abs(off)"),
        (loss("return np.square(K.sqrt(np.square(y_pred - y_true)))"), "tf.square(K.sqrt(tf.square(y_pred - y_true)))"),
        (program("\n\ndef size(t):\n    return np.abs(t)\n\n", layer="Lambda(size)"), "    return tf.abs(t)"),
        (program("", layer="Activation(lambda t: np.square(t[:, 0]))"), "lambda t: tf.square(t[:, 0])"),
        (
            program("\n\nclass Size(Layer):\n    def call(self, t):\n        return np.abs(t)\n\n", layer="Size()"),
            "        return tf.abs(t)",
        ),
        (
            program(
                "\n\ndef far(a, b):\n    return np.abs(a - b)\n\n\ndef error(y_true, y_pred):\n"
                "    return K.mean(far(y_true, y_pred), axis=-1)\n\n",
                "error",
            ),
            "    return tf.abs(a - b)",
        ),
    ],
)
def test_what_operators_did_is_written_with_tensorflow(text: str, written: str) -> None:
    file = migrate(text)
    assert written in file.after
    assert [finding.action for finding in file.findings if finding.code == "TFM262"] == ["rewrite"] * written.count(
        "tf."
    )


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("return np.sqrt(y_pred - y_true)", "write tf.sqrt"),
        ("return np.mean(np.abs(y_pred - y_true), axis=-1)", "write tf.reduce_mean"),
        ("return np.concatenate([y_pred, y_true])", "write tf.concat"),
        ("return np.abs(y_pred - y_true, where=WEIGHTS > 1)", "compute it with TensorFlow functions"),
        ("return np.hypot(y_pred, y_true)", "compute it with TensorFlow functions"),
    ],
)
def test_another_function_is_reported_and_stays_reported(line: str, advice: str) -> None:
    file = migrate(loss(line))
    said = [finding.message for finding in file.findings if finding.code == "TFM262" and finding.action == "warn"]
    assert len(said) == 1
    assert said[0].endswith(advice)
    again = migrate(file.after)
    assert [finding.message for finding in again.findings if finding.code == "TFM262"] == said


@pytest.mark.parametrize(
    "text",
    [
        loss("return K.mean(K.abs(y_pred - y_true) * np.sqrt(WEIGHTS), axis=-1)"),
        loss("return K.abs(y_pred - y_true) / np.prod(K.int_shape(y_pred)[1:])"),
        loss("return K.abs(y_pred - y_true) * (np.shape(y_pred)[-1] + np.ndim(y_pred))"),
        program("\n\ndef error(a, b):\n    return np.abs(a - b)\n\n\nprint(error(WEIGHTS, WEIGHTS))\n"),
    ],
)
def test_arrays_and_shapes_are_no_tensors(text: str) -> None:
    assert not [finding for finding in migrate(text).findings if finding.code == "TFM262"]


@pytest.mark.parametrize(
    "lines",
    [
        (
            "try:",
            "    return K.mean(K.abs(y_pred - y_true))",
            "except TypeError:",
            "    return np.mean(np.abs(y_pred - y_true))",
        ),
        ("if isinstance(y_true, np.ndarray):", "    return np.abs(y_pred - y_true)", "return K.abs(y_pred - y_true)"),
    ],
)
def test_what_is_for_arrays_alone_stays(lines: tuple[str, ...]) -> None:
    file = migrate(loss(*lines))
    assert "np.abs(y_pred - y_true)" in file.after
    assert "TFM262" not in {finding.code for finding in file.findings}
