"""What layers add to the loss (TFM407), in programs that spread no model."""

from __future__ import annotations

import pytest

from tests.kit import migrate

NETS = """
from {library} import backend as K
from {library}.layers import Dense, Input, Layer
from {library}.models import Model
from {library}.utils import multi_gpu_model


class Penalty(Layer):
    def call(self, inputs):
        self.add_loss(K.sum(inputs))
        return inputs


x = Input((4,))
y = Penalty()(Dense(1, activity_regularizer="l2")(x))
model = Model(x, y)
{more}
model.compile("sgd", "mse")
model.fit(a, b)
"""
WRAP = "model = multi_gpu_model(model, gpus=2)"


def told(more: str, library: str = "tensorflow.keras") -> list[str]:
    file = migrate(NETS.format(more=more, library=library))
    return [finding.message for finding in file.findings if finding.code == "TFM407"]


def test_what_is_not_wrapped_was_counted_once() -> None:
    assert told("") == []
    assert len(told(WRAP)) == 2


def test_the_sum_of_standalone_keras_is_reported_all_the_same() -> None:
    (message,) = told("", "keras")
    assert message.startswith("standalone Keras summed activity_regularizer")


@pytest.mark.parametrize(("more", "begins"), [("", "outside a layer's call()"), (WRAP, "under a strategy a loss")])
def test_a_loss_outside_of_a_layer_is_what_keras_3_refuses(more: str, begins: str) -> None:
    message = told(f"model.add_loss(K.sum(y))\n{more}")[-1]
    assert message.startswith(begins)
    assert "Keras 3 raises ValueError" in message
    assert len(message) < 250
