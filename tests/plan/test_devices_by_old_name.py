"""Devices asked for by the name that a GPU had before TensorFlow 1.4."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated

PROGRAM = """
from keras import backend as K
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model
from tensorflow.python.client import device_lib

gpus = [x.name for x in K.device_lib.list_local_devices() if x.name[:4] == "/gpu"]
print(gpus)
model = Sequential([Dense(1, input_shape=(4,))])
model = multi_gpu_model(model, len(gpus))
model.compile("sgd", "mse")
"""


@pytest.mark.parametrize("test", ['x.name[:4] == "/gpu"', 'x.name.startswith("/gpu:")', '"gpu" in x.name'])
@pytest.mark.parametrize("listing", ["K.device_lib", "device_lib"])
def test_no_gpu_has_that_name_any_more(test: str, listing: str) -> None:
    file = check_migrated(PROGRAM.replace('x.name[:4] == "/gpu"', test).replace("in K.device_lib", f"in {listing}"))
    assert 'if x.device_type == "GPU"]' in file.after
    assert "strategy = tf.distribute.MirroredStrategy()" in file.after


@pytest.mark.parametrize("test", ['x.name[:7] == "/device"', '"gpu" in x.name.lower()', 'x.physical == "gpu"'])
def test_another_question_is_left_alone(test: str) -> None:
    file = check_migrated(PROGRAM.replace('x.name[:4] == "/gpu"', test))
    assert f"if {test}]" in file.after
