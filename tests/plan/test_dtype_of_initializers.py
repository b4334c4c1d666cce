"""Initializers that give their dtype to NumPy (TFM251)."""

from __future__ import annotations

import pytest

from tests.kit import SETTINGS, migrate, migrate_files

TRAIN = """
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

from own import fill

model = Sequential([Dense(1, bias_initializer=fill, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile(loss="mse", optimizer="sgd")
"""


@pytest.mark.parametrize(
    ("body", "done"),
    [
        ("np.zeros(shape, dtype)", "np.zeros(shape, dtype and tf.as_dtype(dtype).as_numpy_dtype)"),
        ("draw(shape).astype(dtype)", "draw(shape).astype(dtype and tf.as_dtype(dtype).as_numpy_dtype)"),
        ("draw(shape, dtype=dtype)", "draw(shape, dtype=dtype)"),
    ],
)
def test_a_function_that_another_module_gives_to_a_layer(body: str, done: str) -> None:

    own = f"import numpy as np\nfrom keras import backend as K\n\n\ndef fill(shape, dtype=None):\n    return {body}\n"
    files = migrate_files({"train.py": TRAIN, "own.py": own}, SETTINGS)
    text = files["own.py"].after
    assert f"return {done}\n" in text
    assert ("import tensorflow as tf\n" in text) == ("as_dtype" in done)


def test_a_function_that_is_no_initializer_stays() -> None:
    own = "import numpy as np\n\n\ndef other(shape, dtype=None):\n    return np.zeros(shape, dtype)\n"
    assert "as_dtype" not in migrate(TRAIN.replace("from own import fill", own).replace("=fill", "='zeros'")).after
