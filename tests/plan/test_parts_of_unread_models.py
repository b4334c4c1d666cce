"""A model that is a part of an object which a function makes that nothing defines is made when that object is."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated

CODE = """import keras
import {library}
from keras.layers import Dense
from keras.utils import multi_gpu_model
from data import batches, again

if again:
    model = {library}.load("a.h5")
    model = model.{part}
else:
    model = keras.Sequential([Dense(3, input_shape=(2,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mae")
parallel.fit_generator(batches, epochs=3)
"""


@pytest.mark.parametrize("part", ["layers[-2]", "model"])
def test_both_stand_in_the_scope(part: str) -> None:
    after = check_migrated(CODE.format(library="nets", part=part), nets="SIZE = 3\n").after
    scope = after.split("with strategy.scope():\n")[1]
    arm = f'        model = nets.load("a.h5")\n        model = model.{part}\n'
    assert scope.startswith(f"    if again:\n{arm}    else:\n")
