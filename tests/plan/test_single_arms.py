"""The arm of a guard in which there is one GPU: the strategy is the default one there, whose scope changes nothing."""

from __future__ import annotations

from tests.kit import changed, check_migrated

PROGRAM = """
import tensorflow as tf
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

gpus = int(input())
with tf.device("/cpu:0"):
    model = Sequential([Dense(1, input_shape=(4,))])

if gpus <= 1:
    model.compile("sgd", "mse")
    model.train_on_batch(x, y)
else:
    parallel_model = multi_gpu_model(model, gpus=gpus)
    parallel_model.compile("sgd", "mse")
    parallel_model.train_on_batch(x, y)
    print("spread")
"""
SCOPED = '    with strategy.scope():\n        model.compile("sgd", "mse")\n'


def test_it_needs_no_scope() -> None:
    after = check_migrated(PROGRAM).after
    assert 'if gpus <= 1:\n    model.compile("sgd", "mse")\n' in after
    assert f"else:\n{SCOPED}" in after


def test_the_arms_may_stand_the_other_way_round() -> None:
    head, _, arms = PROGRAM.partition("if gpus <= 1:\n")
    one, _, several = arms.partition("else:\n")
    after = check_migrated(f"{head}if gpus > 1:\n{several}else:\n{one}").after
    assert f"if gpus > 1:\n{SCOPED}" in after
    assert 'else:\n    model.compile("sgd", "mse")\n' in after


def test_a_strategy_of_all_gpus_is_no_default_one() -> None:
    count = 'gpus = len([d for d in device_lib.list_local_devices() if d.device_type == "GPU"])'
    program = changed(
        PROGRAM,
        ("gpus = int(input())", count),
        ("import tensorflow as tf", "import tensorflow as tf\nfrom tensorflow.python.client import device_lib"),
    )
    assert check_migrated(program).after.count(SCOPED) == 2
