"""What a migration would leave for a reviewer to tidy up: choices between one model and itself, warnings of no file."""

from __future__ import annotations

import pytest

from tfmigrate.migrate import migrate_bytes
from tfmigrate.result import FileResult
from tfmigrate.settings import Settings

HEAD = """\
import sys

from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Model, Sequential
from tensorflow.keras.utils import multi_gpu_model

G = int(sys.argv[1])
"""
BUILT = """\
model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, G)
parallel.compile("sgd", "mse")
"""


def migrated(body: str) -> FileResult:
    file = migrate_bytes((HEAD + body).encode(), "program.py", Settings())
    assert file.error is None, file.error
    assert file.status == "migrated"
    assert not migrate_bytes(file.after.encode(), "program.py", Settings()).changed
    return file


@pytest.mark.parametrize(
    ("choice", "left"),
    [
        ("chosen = parallel if G > 1 else model\nchosen.fit(x)\n", "chosen = model\nchosen.fit(x)\n"),
        ("if G > 1:\n    parallel.fit(x)\nelse:\n    model.fit(x)\n", "model.fit(x)\n"),
        (
            "if G > 1:\n    # trains\n    parallel.fit(x)\nelse:\n    model.fit(x)\n",
            "# trains\n    model.fit(x)\nelse:",
        ),
        ("if G > 1:\n    parallel.fit(x)\nelse:\n    model.fit(y)\n", "else:\n    model.fit(y)\n"),
        ("if ask():\n    parallel.fit(x)\nelse:\n    model.fit(x)\n", "else:\n    model.fit(x)\n"),
        ("print(1 if G > 1 else 1, parallel)\n", "print(1 if G > 1 else 1, model)\n"),
    ],
)
def test_a_choice_between_the_model_and_itself_goes(choice: str, left: str) -> None:
    assert left in migrated(BUILT + choice).after


DRESS = """\
class Parallel(Model):
    def __init__(self, template, gpus):
        self.__dict__.update(multi_gpu_model(template, gpus).__dict__)
        self.template = template
{method}

model = Sequential([Dense(1, input_shape=(4,))])
parallel = Parallel(model, 2)
parallel.compile("sgd", "mse")
parallel.save_weights("a.weights.h5")
"""
CHOOSER = """
    def __getattribute__(self, name):
        if {test}:
            return getattr(self.template, name)
        return super().__getattribute__(name)
"""


@pytest.mark.parametrize(
    ("method", "told"),
    [
        ("", 1),
        (CHOOSER.format(test="'load' in name or 'save' in name"), 0),
        (CHOOSER.format(test="name == 'load_weights'"), 1),
    ],
)
def test_a_wrapper_that_saves_its_template_wrote_no_file_of_the_parallel_model(method: str, told: int) -> None:
    file = migrated(DRESS.format(method=method))
    assert [one.code for one in file.findings].count("TFM022") == told


def test_arms_that_built_the_same_in_two_places_are_one() -> None:
    body = """\
import tensorflow as tf
if G > 1:
    with tf.device("/cpu:0"):
        model = Sequential([Dense(1,
                                  input_shape=(4,))])
else:
    model = Sequential([Dense(1,
                              input_shape=(4,))])
if G > 1:
    parallel = multi_gpu_model(model, G)
else:
    parallel = model
parallel.compile("sgd", "mse")
"""
    body = body.replace("(4,))])\nif G", "(4,))])  \nif G")
    after = migrated(body).after
    assert after.count("model = Sequential([Dense(1,") == 1
    assert "if G > 1:" not in after
    assert "if G > 1:" in migrated(body.replace("Dense(1,", "Dense(2,", 1)).after


def test_a_remark_stands_with_its_statement() -> None:
    after = migrated(
        "from tensorflow.keras.optimizers import RMSprop\n# Trains\n" + BUILT.replace('"sgd"', "RMSprop(G)")
    ).after
    assert "    # 1e-7 squared: epsilon is now inside the square root\n    model.compile(" in after
    body = BUILT.replace('"sgd"', "rate") + "parallel.fit(x)\nparallel.compile('rmsprop', 'mse')\n"
    assert "with strategy.scope():\n    # 1e-7 squared: epsilon is now inside the square root\n" in migrated(body).after
