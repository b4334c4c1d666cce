"""One optimizer object for two models is told; one for each, or for one model twice, is not."""

from __future__ import annotations

import pytest

from tfmigrate.migrate import migrate_bytes
from tfmigrate.settings import Settings

START = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.optimizers import SGD
from keras.utils import multi_gpu_model


def build(width):
    return multi_gpu_model(Sequential([Dense(width, input_shape=(4,))]), gpus=2)


"""
LINES = START.count("\n")


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("opt = SGD(0.1)\na, b = build(1), build(2)\na.compile(opt, 'mse')\nb.compile(opt, 'mse')\n", [4]),
        ("def one(model, opt):\n    model.compile(opt, 'mse')\n\n"
         "opt = SGD(0.1)\none(build(1), opt)\none(build(2), opt)\none(build(3), opt)\n",
         [2]),
        ("a, b = build(1), build(2)\na.compile(SGD(0.1), 'mse')\nb.compile(SGD(0.1), 'mse')\n", []),
        ("one, other = SGD(0.1), SGD(0.1)\n"
         "a, b = build(1), build(2)\na.compile(one, 'mse')\nb.compile(other, 'mse')\n",
         []),
        ("opt = SGD(0.1)\na = build(1)\na.compile(opt, 'mse')\na.compile(opt, 'mae')\n", []),
        ("opt = SGD(0.1)\na = build(1)\na.layers[0].trainable = False\na.compile(opt, 'mse')\n"
         "for layer in a.layers:\n    layer.trainable = True\na.compile(opt, 'mse')\n", [7]),
        ("opt = SGD(0.1)\na = build(1)\na.compile(opt, 'mse')\n"
         "for layer in a.layers:\n    layer.trainable = False\na.compile(opt, 'mse')\n", []),
        ("opt = SGD(0.1)\na = build(1)\na.layers[0].trainable = False\na.compile(opt, 'mse')\n"
         "for layer in a.layers:\n    layer.trainable = True\na.compile(SGD(0.1), 'mse')\n", []),
        ("opt = SGD(0.1)\na, b = build(1), build(2)\na.compile(opt, 'mse')\n"
         "b.trainable = True\na.compile(opt, 'mse')\n", []),
        ("opt = SGD(0.1)\nif wide:\n    a = build(8)\n    a.compile(opt, 'mse')\nelse:\n    a = build(1)\n"
         "    a.compile(opt, 'mae')\n", []),
        ("for width in (1, 2):\n    a = build(width)\n    a.compile(SGD(0.1), 'mse')\n", []),
        ("opt = SGD(0.1)\nfor width in (1, 2):\n    a = build(width)\n    a.compile(opt, 'mse')\n", [4]),
        ("for width in (1, 2):\n    opt = SGD(0.1)\n    a = build(width)\n    a.compile(opt, 'mse')\n", []),
        ("opt = SGD(0.1)\nfor width in (1, 2):\n    a = Sequential([Dense(width, input_shape=(4,))])\n"
         "    a = multi_gpu_model(a, gpus=2)\n    a.compile(opt, 'mse')\n", [5]),
        ("opt = SGD(0.1)\na = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)\n"
         "for rate in (1, 2):\n    a.compile(opt, 'mse')\n", []),
    ],
)  # fmt: skip
def test_told_at_the_second_compile(body: str, lines: list[int]) -> None:
    file = migrate_bytes((START + body).encode(), "train.py", Settings())
    assert file.error is None
    told = [finding.line - LINES for finding in file.findings if finding.code == "TFM405"]
    assert told == lines
