"""A whole program round the few lines that a test is about."""

from __future__ import annotations

from tests.kit import actions, migrate

_BEFORE = """\
from keras import backend as K
from keras.layers import Dense, Input
from keras.models import Model, Sequential
from keras.utils import multi_gpu_model
import keras
import numpy as np
import tensorflow as tf

model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
MARK = 0
"""


def migrated(lines: str, code: str) -> tuple[str, list[str]]:
    """The lines as they are migrated behind a wrapped model, and what was done of one rule, in order of place."""
    result = migrate(f"{_BEFORE}{lines}\n")
    return result.after.partition("MARK = 0\n")[2].rstrip("\n"), actions(result, code)
