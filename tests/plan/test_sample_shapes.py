"""Which axes a reduction leaves: the mean of one value a sample is dropped, that of any other is not."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated

PROGRAM = """
from keras import backend as K
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

def loss(t, p):
    return K.mean({inner})

model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile("sgd", loss)
"""


@pytest.mark.parametrize(
    ("inner", "by_sample"),
    [
        ("K.sum(K.square(t - p), axis=[1, 2])", True),
        ("K.sum(K.square(t - p), axis=[1, 0])", False),
        ("K.sum(K.square(t - p), axis=[0, 1])", False),
        ("K.sum(K.square(t - p), axis=-1)", True),
        ("K.sum(K.square(t - p), axis=0x1)", True),
        ("K.sum(K.square(t - p), axis=[1, -1])", False),
        ("K.sum(K.sum(t - p, axis=1), axis=-1)", False),
        ("K.sum(t - p, axis=which)", False),
    ],
)
def test_a_reduction_over_the_first_axis_mixes_samples(inner: str, by_sample: bool) -> None:
    file = check_migrated(PROGRAM.format(inner=inner))
    assert (f"    return {inner}\n" in file.after) is by_sample
