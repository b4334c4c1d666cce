"""Embedding layers under optimizers that square gradients, and under those that do not (TFM308)."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated

PROGRAM = """
from keras import optimizers
from keras.layers import Dense, Embedding, Flatten
from keras.models import Sequential
from keras.optimizers import SGD, Adam
from keras.utils import multi_gpu_model

model = Sequential([Embedding(50, 8, input_shape=(4,)), Flatten(), Dense(1)])
parallel = multi_gpu_model(model, gpus=2)
chosen = {optimizer}
parallel.compile(chosen, "mse")
parallel.train_on_batch(x, y)
{more}
"""


@pytest.mark.parametrize(
    ("optimizer", "more", "told"),
    [
        ("'sgd'", "", []),
        ("SGD(0.1, 0.9)", "", []),
        ("SGD(0.1) if fast else 'SGD'", "", []),
        ("SGD(0.1)", "parallel.compile('adam', 'mse')", ["rewrite"]),
        ("SGD(0.1, clipnorm=1.0)", "", ["rewrite"]),
        ("SGD(**settings)", "", ["rewrite"]),
        ("SGD(0.1) if fast else Adam(0.1)", "", ["rewrite"]),
        ("optimizers.get(name)", "", ["rewrite"]),
        ("given", "", ["rewrite"]),
    ],
)
def test_plain_steps_need_no_regularizer(optimizer: str, more: str, told: list[str]) -> None:
    assert actions(check_migrated(PROGRAM.format(optimizer=optimizer, more=more)), "TFM308") == told


def test_one_comment_in_a_file_says_why() -> None:
    layers = "Embedding(50, 8, input_shape=(4,))"
    skipped = f"other = {layers}  # tfmigrate: skip\n"
    program = PROGRAM.format(optimizer="'adam'", more=f"more = {layers}\nlast = {layers}")
    after = check_migrated(program.replace("\nmodel = ", f"\n{skipped}model = ")).after
    assert after.count("# L2(0.0): the gradients") == 1
    assert after.count("L2(0.0))") == 3
