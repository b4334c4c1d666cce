"""Attributes of models, layers and optimizers that Keras 3 does not have."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_unchanged, migrate, with_model


@pytest.mark.parametrize(
    "line",
    [
        "print(model._input_layers[0])",
        "print(parallel_model.targets)",
        "model.metrics_tensors.append(1)",
        "nodes = model.layers[1].inbound_nodes",
        "mask = model.layers[1].output_mask",
        "mask = model.get_layer('words').input_mask",
        "masks = [layer.output_mask for layer in reversed(model.layers)]",
        "mask = words.get_output_mask_at(0)",
        "state = parallel_model.optimizer.get_weights()",
        "parallel_model.optimizer.set_weights(state)",
        "make = model._standardize_user_data",
    ],
)
def test_what_keras_3_does_not_have_is_told(line: str) -> None:
    assert actions(migrate(with_model("") + line + "\n"), "TFM270") == ["warn"]


@pytest.mark.parametrize(
    "line",
    [
        "model._losses = []",
        "model.metrics_tensors = []",
        "print(model.inputs, model.losses, model.get_weights())",
        "model.set_weights(values)",
        "model.layers[1].set_weights(values)",
        "print(batch.targets, rows.updates)",
        "print(features.input_mask, part.output_mask)",
        "masks = [part.output_mask for part in parts]",
        "class Own:\n    def __init__(self):\n        self.targets = self.updates = 0\n\n\nprint(Own().targets)",
    ],
)
def test_what_it_has_and_what_is_not_keras_is_not(line: str) -> None:
    assert actions(migrate(with_model("") + line + "\n"), "TFM270") == []


def test_it_is_told_of_a_migrated_program_too() -> None:
    file = check_unchanged(
        """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
    model.compile(loss="mse", optimizer="sgd")
model.train_on_batch(x, y)
print(model._input_layers)
"""
    )
    assert actions(file, "TFM270") == ["warn"]
