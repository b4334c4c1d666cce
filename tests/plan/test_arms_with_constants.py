"""Arms of a guard of which one writes a number, and the other its name."""

from __future__ import annotations

import pytest

from tests.kit import changed, check_migrated

PROGRAM = """
import tensorflow as tf
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


def build(units):
    return Sequential([Dense(units, input_shape=(4,))])


def main(args):
    units = 3
    if args.gpus > 1:
        with tf.device("/cpu:0"):
            model = build(3)
    else:
        model = build(units)
    if args.gpus > 1:
        model = multi_gpu_model(model, gpus=args.gpus)
    model.compile("sgd", "mse")
"""


def test_they_are_one_and_the_name_stays() -> None:
    after = check_migrated(PROGRAM).after
    assert "    with strategy.scope():\n        model = build(units)\n" in after
    assert "build(3)" not in after


@pytest.mark.parametrize("line", ["units = 4", "units = args.units", "units = 3\n    units = args.units or units"])
def test_another_number_is_another_model(line: str) -> None:
    after = check_migrated(changed(PROGRAM, ("units = 3", line))).after
    assert "build(3)" in after
    assert "build(units)" in after


def test_the_name_may_stand_in_the_first_arm() -> None:
    program = changed(
        PROGRAM, ("build(3)", "build(n)"), ("= build(units)", "= build(3)"), ("    units = 3", "    n = 3")
    )
    assert "        model = build(n)\n" in check_migrated(program).after
