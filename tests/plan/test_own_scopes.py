"""multi_gpu_model beside a strategy that the program makes itself: no scope stands in that of another one (TFM107)."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, check_refused

IMPORTS = """
import tensorflow as tf
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model


def build():
    return Sequential([Dense(1, input_shape=(4,))])


own = tf.distribute.MirroredStrategy()
"""

BUILT_INSIDE = """
with own.scope():
    model = build()
with own.scope():
    parallel = multi_gpu_model(model, gpus=2)
    parallel.compile("sgd", "mse")
parallel.fit(batches)
"""

COMPILED_INSIDE = """
parallel = multi_gpu_model(build(), gpus=2)
with own.scope():
    parallel.compile("sgd", "mse")
parallel.fit(batches)
"""

TRAINED_INSIDE = """
parallel = multi_gpu_model(build(), gpus=2)
parallel.compile("sgd", "mse")
with own.scope():
    parallel.fit(batches)
"""

CALLED_INSIDE = """
def train(model):
    parallel = multi_gpu_model(model, gpus=2)
    parallel.compile("sgd", "mse")
    parallel.fit(batches)


with own.scope():
    train(build())
print(own.num_replicas_in_sync)
"""

OF_AN_OBJECT = """
class Project:
    def __init__(self):
        self.model = build()

    def train(self, gpus):
        with own.scope():
            self.parallel = multi_gpu_model(self.model, gpus=gpus)
        with own.scope():
            self.parallel.compile("sgd", "mse")
            self.parallel.fit(batches)


Project().train(2)
"""


@pytest.mark.parametrize("program", [BUILT_INSIDE, COMPILED_INSIDE, TRAINED_INSIDE, CALLED_INSIDE, OF_AN_OBJECT])
def test_a_model_in_the_scope_of_another_strategy_is_refused(program: str) -> None:
    file = check_refused(IMPORTS + program, "TFM107")
    (message,) = [finding.message for finding in file.findings if finding.code == "TFM107"]
    first = (IMPORTS + program).splitlines().index(next(line for line in program.splitlines() if "own.scope" in line))
    if program is not OF_AN_OBJECT:
        assert f"(line {first + 1})" in message
    assert file.after == file.before


ROUND_THE_WRAP_ALONE = """
model = build()
with own.scope():
    parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
parallel.fit(batches)
"""

OF_ANOTHER_MODEL = """
with own.scope():
    other = build()
    other.compile("sgd", "mse")
model = build()
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
parallel.fit(batches)
"""

IN_THE_OTHER_ARM = """
if mirrored:
    with own.scope():
        model = build()
        model.compile("sgd", "mse")
else:
    model = multi_gpu_model(build(), gpus=2)
    model.compile("sgd", "mse")
model.fit(batches)
"""


@pytest.mark.parametrize("program", [ROUND_THE_WRAP_ALONE, OF_ANOTHER_MODEL, IN_THE_OTHER_ARM])
def test_a_strategy_that_the_model_has_nothing_to_do_with_is_none(program: str) -> None:
    file = check_migrated(IMPORTS + program)
    assert not actions(file, "TFM107")
    assert actions(file, "TFM001") == ["rewrite"]


def test_a_strategy_that_serves_nothing_else_goes() -> None:
    file = check_migrated(IMPORTS + ROUND_THE_WRAP_ALONE)
    assert "own" not in file.after
    assert file.after.count("MirroredStrategy") == 1


@pytest.mark.parametrize(
    "other",
    [
        "tf.distribute.MultiWorkerMirroredStrategy()",
        "tf.distribute.experimental.ParameterServerStrategy(resolver)",
        "tf.contrib.distribute.ParameterServerStrategy(2)",
    ],
)
def test_a_strategy_of_another_kind_is_not_replaced(other: str) -> None:
    program = IMPORTS.replace("tf.distribute.MirroredStrategy()", other) + ROUND_THE_WRAP_ALONE
    assert check_refused(program, "TFM107").after == program
