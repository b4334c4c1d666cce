"""A `try` whose arms each compile the model stands in one scope."""

from __future__ import annotations

from tests.kit import changed, check_migrated

PROGRAM = """
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)

# Older versions call it otherwise.
try:
    parallel_model.compile("sgd", "mse", metrics=["accuracy"])
except TypeError:
    try:
        parallel_model.compile("sgd", "mse", metrics=["acc"])
    except TypeError:
        parallel_model.compile("sgd", "mse")
parallel_model.train_on_batch(x, y)
"""


def test_one_scope_for_all_arms() -> None:
    after = check_migrated(PROGRAM).after
    assert after.count("with strategy.scope():") == 1
    assert "\n\n    # Older versions call it otherwise.\n    try:\n        model.compile(" in after


def test_a_try_that_also_trains_stays_outside() -> None:
    line = 'parallel_model.compile("sgd", "mse", metrics=["accuracy"])\n'
    program = changed(PROGRAM, (line, f"{line}    parallel_model.train_on_batch(x, y)\n"))
    after = check_migrated(program).after
    assert "\ntry:\n    with strategy.scope():\n        model.compile(" in after


def test_a_try_that_compiles_once_stays_outside() -> None:
    program = PROGRAM.partition("except")[0] + "except TypeError:\n    print('none')\n"
    assert "\ntry:\n    with strategy.scope():\n        model.compile(" in check_migrated(program).after
