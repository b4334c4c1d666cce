"""Arguments of add_weight(), whose first one is the shape in Keras 3."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated

PROGRAM = """\
{head}
from {keras}.layers import Dense, Input
from {keras}.models import Model
from {keras}.utils import multi_gpu_model


class Scaled({base}):
    def build(self, input_shape):
        self.kernel = {call}
        super(Scaled, self).build(input_shape)


x = Input((4,))
model = Model(x, Dense(2)(Scaled()(x)))
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
"""
LAYER = "from tensorflow.keras.layers import Layer"


def program(call: str, head: str = LAYER, base: str = "Layer", keras: str = "tensorflow.keras") -> str:
    return PROGRAM.format(head=head, base=base, call=call, keras=keras)


@pytest.mark.parametrize(
    ("call", "after"),
    [
        ("self.add_weight('w', shape=(4,))", "self.add_weight(name='w', shape=(4,))"),
        ("self.add_weight('w', (4,), initializer='ones')", "self.add_weight(name='w', shape=(4,), initializer='ones')"),
        (
            "self.add_weight('w', (4,), 'float32', 'ones', None)",
            "self.add_weight(name='w', shape=(4,), dtype='float32', initializer='ones', regularizer=None)",
        ),
        ("self.add_weight(self.label, [4])", "self.add_weight(name=self.label, shape=[4])"),
        ("self.add_weight((4,), initializer='ones')", "self.add_weight(shape=(4,), initializer='ones')"),
        ("self.add_weight(size, 'ones', name='w')", "self.add_weight(shape=size, initializer='ones', name='w')"),
        ("self.add_variable('w', [4])", "self.add_weight(name='w', shape=[4])"),
        ("self.add_variable(name='w', shape=[4])", "self.add_weight(name='w', shape=[4])"),
        ("self.add_weight(shape=[4], use_resource=True)", "self.add_weight(shape=[4])"),
        ("self.add_weight('w', [4], partitioner=None)", "self.add_weight(name='w', shape=[4])"),
    ],
)
def test_arguments_are_written_with_their_names(call: str, after: str) -> None:
    file = check_migrated(program(call))
    assert after in "".join(line.strip() + (" " if line.endswith(",") else "") for line in file.after.splitlines())
    assert set(actions(file, "TFM268")) == {"rewrite"}


@pytest.mark.parametrize(
    ("head", "base", "keras"),
    [
        ("from keras.engine.topology import Layer", "Layer", "keras"),
        ("from keras import layers", "layers.Dense", "keras"),
        ("import tensorflow as tf", "tf.keras.Model", "tensorflow.keras"),
        ("from tensorflow.keras.layers import LSTMCell", "LSTMCell", "tensorflow.keras"),
    ],
)
def test_in_every_kind_of_layer_and_model(head: str, base: str, keras: str) -> None:
    file = check_migrated(program("self.add_weight('w', [4])", head, base, keras))
    assert "self.add_weight(name='w', shape=[4])" in file.after


@pytest.mark.parametrize(
    ("call", "base"),
    [
        ("self.add_weight(name='w', shape=[4])", "Layer"),
        ("self.add_weight(*sizes)", "Layer"),
        ("self.add_weight(shape=[4], partitioner=parts)", "Layer"),
        ("self.graph.add_weight('w', [4])", "Layer"),
        ("self.add_weight('w', [4])", "object"),
    ],
)
def test_what_is_named_or_another_method_is_left_alone(call: str, base: str) -> None:
    file = check_migrated(program(call, base=base))
    assert f"self.kernel = {call}" in file.after
    assert actions(file, "TFM268") == []
