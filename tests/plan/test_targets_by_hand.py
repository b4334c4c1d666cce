"""Metrics that relate samples, of a model that is trained on single batches: each replica is given the whole batch."""

from __future__ import annotations

from tests.kit import changed, check_migrated

PROGRAM = """
from keras import backend as K
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


def signal(y_true, y_pred):
    return 10.0 * K.log(1.0 / K.mean(K.square(y_pred - y_true)))


model = Sequential([Dense(1, input_shape=(4,))])
model = multi_gpu_model(model, gpus=2)
model.compile("sgd", "mse", metrics=[signal])
model.train_on_batch(x, y)
"""
CAST = "    y_true = tf.cast(y_true, y_pred.dtype)\n"


def test_they_cast_their_targets_themselves() -> None:
    after = check_migrated(PROGRAM).after
    assert f"def signal(y_true, y_pred):\n{CAST}" in after
    assert "metrics=[signal]" in after


def test_what_is_given_the_batches_of_all_replicas_gets_floats() -> None:
    after = check_migrated(changed(PROGRAM, ("train_on_batch(x, y)", "fit(x, y, batch_size=8)"))).after
    assert CAST not in after
    assert "metrics=[whole_batch(signal)]" in after
