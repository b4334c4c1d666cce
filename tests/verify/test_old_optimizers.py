"""The old script restored with the optimizers of its time takes the steps that it took on its own TensorFlow."""

from __future__ import annotations

import pytest

from tfmigrate.verify.judge.compare import Comparison, compare

from .worlds import Worlds

SCRIPT = """
import numpy as np
from KERAS.layers import Dense, Embedding, Flatten
from KERAS.models import Sequential
from KERAS.optimizers import SGD, Adadelta, Adagrad, Adam, Adamax, Nadam, RMSprop
from KERAS.utils import multi_gpu_model

random = np.random.RandomState(0)
rows = np.minimum(random.geometric(0.1, (192, 6)), 49)
target = (rows.sum(1, keepdims=True) > 60).astype("float32")
for optimizer in [OPTIMIZERS]:
    layers = [Embedding(50, 4, input_length=6), Flatten(), Dense(8, activation="relu"), Dense(1, activation="sigmoid")]
    template = Sequential(layers)
    parallel = multi_gpu_model(template, gpus=2)
    parallel.compile(optimizer, "binary_crossentropy")
    parallel.fit(rows, target, batch_size=32, epochs=2, verbose=0)
"""
BOTH = (
    "'rmsprop', RMSprop(lr=0.01, epsilon=1e-3), Adagrad(lr=0.05, epsilon=1e-4), Adadelta(lr=1.0), Adamax(lr=0.01), "
    "Nadam(lr=0.01), SGD(lr=0.1, momentum=0.9, nesterov=True), Adam(lr=0.01, decay=0.01)"
)
OPTIMIZERS = {
    "keras": f"{BOTH}, Nadam(schedule_decay=0.1), SGD(lr=0.5, clipnorm=0.05)",
    "tensorflow.keras": f"{BOTH}, RMSprop(lr=0.01, momentum=0.9), RMSprop(lr=0.01, centered=True)",
}
CHANGED = {"keras": {1, 2, 5, 8, 9}, "tensorflow.keras": {1, 4, 5, 6, 8, 9}}
"""Whose losses part by more than 1e-4 within these few steps where the optimizers are today's."""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", OPTIMIZERS)
def test_old_optimizers_take_the_steps_they_took(keras: str, worlds: Worlds) -> None:
    text = SCRIPT.replace("KERAS", keras).replace("OPTIMIZERS", OPTIMIZERS[keras])
    standalone = keras == "keras"
    reference = worlds.run(worlds.of("genuine keras" if standalone else "genuine tf.keras", text))

    def held_against(old_optimizers: bool) -> Comparison:
        world = worlds.of("restored keras 2", text, old_optimizers=old_optimizers, standalone=standalone)
        return compare(reference.trace, worlds.run(world, reference).trace, 1e-5)

    comparison = held_against(True)
    assert comparison.max_relative_difference < 2e-6
    assert comparison.broken == ()
    today = held_against(False)
    apart = {pair.fit for pair in today.steps if pair.difference > 1e-4}
    assert apart == CHANGED[keras]
