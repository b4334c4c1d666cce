"""A copy of multi_gpu_model in the file that called it goes, and what served it alone goes with it (TFM272)."""

from __future__ import annotations

import pytest

from tests.kit import migrate, migrate_files

PROGRAM = """\
import tensorflow as tf
from tensorflow.keras.layers import Dense, Lambda, concatenate
from tensorflow.keras.models import Model, Sequential

{above}
def share(rows, part, parts):
    return rows[part * size(rows, parts):(part + 1) * size(rows, parts)]


def size(rows, parts):
    return tf.shape(rows)[0] // parts


def multi_gpu_model(model, gpus):
    outputs = []
    for i in range(gpus):
        with tf.device("/gpu:%d" % i):
            rows = [Lambda(share, arguments=dict(part=i, parts=gpus))(x) for x in model.inputs]
            outputs.append(model(rows))
    return Model(model.inputs, concatenate(outputs, axis=0))


{below}
model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, 2)
parallel.compile("sgd", "mse")
parallel.fit(batches)
"""


def test_the_functions_that_served_it_alone_go_with_it() -> None:
    file = migrate(PROGRAM.format(above="", below=""))
    assert "def " not in file.after
    assert "Lambda" not in file.after
    (message,) = [finding.message for finding in file.findings if finding.code == "TFM272"]
    assert message.endswith("is removed with its last call, and share(), size() with it")


@pytest.mark.parametrize(
    ("above", "below", "staying"),
    [
        ("", "print(size(y, 2))\n", ["size"]),
        ("", "print(share(y, 0, 2))\n", ["share", "size"]),
        ("__all__ = ['size']\n\n", "", ["size"]),
        ("if True:\n    def size():\n        pass\n\n", "", ["size"]),
        ("@registered\n", "", ["share", "size"]),
        ("", "def unused():\n    return 1\n\n", ["unused"]),
        ("", "def unused():\n    return size(y, 2)\n\n", ["size", "unused"]),
    ],
)
def test_those_that_something_else_may_use_stay(above: str, below: str, staying: list[str]) -> None:
    after = migrate(PROGRAM.format(above=above, below=below)).after
    assert "def multi_gpu_model" not in after
    assert [name for name in ("share", "size", "unused") if f"def {name}(" in after] == staying


def test_in_a_file_that_others_import_they_stay() -> None:
    files = {"train.py": PROGRAM.format(above="", below=""), "other.py": "from train import size\n"}
    assert "def size(" in migrate_files(files)["train.py"].after
