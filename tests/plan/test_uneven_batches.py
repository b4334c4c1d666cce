"""A batch that the replicas do not divide stops Keras 3 at its first step, and is reported."""

from __future__ import annotations

import pytest

from tests.kit import migrate

PROGRAM = """from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus={gpus})
parallel.compile("sgd", "mse")
parallel.{call}
"""


@pytest.mark.parametrize(
    ("gpus", "call", "told"),
    [
        ("3", "fit(x, y, batch_size=64)", True),
        ("3", "fit(x, y)", True),
        ("[0, 1, 2]", "fit(x, y, batch_size=64)", True),
        ("2", "evaluate(x, y, batch_size=1)", True),
        ("2", "fit(x, y, batch_size=64)", False),
        ("4", "fit(x, y)", False),
        ("3", "fit(x, y, batch_size=size)", False),
        ("gpus", "fit(x, y, batch_size=63)", False),
        ("3", "fit_generator(rows)", False),
        ("3", "predict(x, batch_size=64)", False),
    ],
)
def test_batches_that_are_not_shared_out_evenly(gpus: str, call: str, told: bool) -> None:
    file = migrate(PROGRAM.format(gpus=gpus, call=call))
    assert any(f.code == "TFM433" and f.action == "warn" and "evenly" in f.message for f in file.findings) == told
