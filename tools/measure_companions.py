#!/usr/bin/env python
"""Losses of small trainings, written as old Keras took them and as the rules write them today.

    OLD_PYTHON tools/measure_companions.py old     # standalone Keras 2.3.1 on TensorFlow 1.15
    python tools/measure_companions.py new         # today's; TF_USE_LEGACY_KERAS=1 for Keras 2
    python tools/measure_companions.py naive       # the old text run today, where it runs at all

Prints {training: [loss of each of 30 steps]} as JSON behind `LOSSES `. Weights and data are the same everywhere, made
by numpy. The old losses are kept in tests/plan/keras-2.3.1.json; tests/plan/test_numbers.py holds today's against
them. Runs from Python 3.6 on.
"""

import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

STEPS = 30


def hard_sigmoid(x):
    """What TFM303 writes."""
    return tf.clip_by_value(0.2 * x + 0.5, 0.0, 1.0)


def trainings(keras, mode):
    """{name: (layers, optimizer, loss, inputs)}; `mode` is "old", "new" or "naive"."""
    layers, optimizers, backend = keras.layers, keras.optimizers, keras.backend
    new = mode == "new"
    random = np.random.RandomState(0)
    rows = random.randn(64, 4).astype("float32")
    sequences = random.randn(64, 6, 4).astype("float32")
    images = random.randn(64, 9, 9, 2).astype("float32")

    def dense():
        return [layers.Dense(8, activation="tanh", input_shape=(4,)), layers.Dense(1)]

    def recurrent(kind, **arguments):
        gates = hard_sigmoid if new else "hard_sigmoid"
        return [getattr(layers, kind)(5, recurrent_activation=gates, input_shape=(6, 4), **arguments), layers.Dense(1)]

    def convolution():
        if mode == "old":
            first = layers.Conv2D(3, 3, 3, border_mode="same", input_shape=(9, 9, 2))
        elif new:
            first = layers.Conv2D(3, (3, 3), padding="same", input_shape=(9, 9, 2))
        else:
            first = layers.Conv2D(3, 3, 3, padding="same", input_shape=(9, 9, 2))
        return [first, layers.Flatten(), layers.Dense(1)]

    def mean_squared(y_true, y_pred):
        if new:
            return backend.mean(backend.square(y_pred - y_true), axis=-1)
        return backend.mean(backend.square(y_pred - y_true))

    accumulator = {"learning_rate": 0.01, "initial_accumulator_value": 0.0}
    return {
        "TFM304 RMSprop": (dense(), optimizers.RMSprop(**({"epsilon": 1e-14} if new else {})), "mse", rows),
        "TFM304 Adagrad": (
            dense(),
            optimizers.Adagrad(epsilon=1e-14, **accumulator)
            if new
            else optimizers.Adagrad(**(accumulator if mode == "naive" else {})),
            "mse",
            rows,
        ),
        "TFM303 GRU": (
            recurrent("GRU", **({"reset_after": False} if mode != "old" else {})),
            optimizers.SGD(0.05),
            "mse",
            sequences,
        ),
        "TFM303 LSTM": (recurrent("LSTM"), optimizers.SGD(0.05), "mse", sequences),
        "TFM306 Nadam": (dense(), optimizers.Nadam(0.002), "mse", rows),
        "TFM403 mean": (dense(), optimizers.SGD(0.05), mean_squared, rows),
        "TFM207 Conv2D": (convolution(), optimizers.SGD(0.001), "mse", images),
    }  # fmt: skip


def losses(keras, layers, optimizer, loss, inputs):
    """The loss of each step, from weights that do not depend on the version of Keras."""
    model = keras.models.Sequential(layers)
    model.build((None, *inputs.shape[1:]))
    random = np.random.RandomState(1)
    model.set_weights([(random.randn(*w.shape) * 0.3).astype("float32") for w in model.get_weights()])
    model.compile(optimizer, loss)
    targets = np.random.RandomState(2).randn(len(inputs), 1).astype("float32")
    return [float(model.train_on_batch(inputs, targets)) for _ in range(STEPS)]


def main(mode):
    if mode == "old":
        import keras
    else:
        keras = tf.keras
    found = {name: losses(keras, *training) for name, training in trainings(keras, mode).items()}
    print("LOSSES " + json.dumps(found))


if __name__ == "__main__":
    if sys.argv[1:] not in (["old"], ["new"], ["naive"]):
        sys.exit(__doc__)
    main(sys.argv[1])
