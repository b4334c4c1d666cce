"""A call that Python refuses is known from its text."""

from __future__ import annotations

import pytest

from tests.kit import codes, migrate

PROGRAM = """from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


{head}
    model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
    model.compile("sgd", "mse")
    return model


{call}
"""


@pytest.mark.parametrize(
    ("head", "call", "fits"),
    [
        ("def build(a, b=1):", "build(1)", True),
        ("def build(a, b=1):", "build(1, 2)", True),
        ("def build(a, b=1):", "build(b=1, a=2)", True),
        ("def build(a, b=1):", "build(*given)", True),
        ("def build(a, *rest, b=1, **more):", "build(1, 2, 3, c=4)", True),
        ("def build(a, b=1):", "build(1, 2, 3)", False),
        ("def build(a, b=1):", "build(1, c=2)", False),
        ("def build(a, b=1):", "build()", False),
        ("def build(a, b=1):", "build(1, a=2)", False),
        ("def build(a, *, b):", "build(1)", False),
        ("@wrapped\ndef build(a, b=1):", "build(1, 2, 3)", True),
        ("class Net:\n  def build(self, a):", "Net().build(1)", True),
        ("class Net:\n  def build(self, a):", "Net.build(Net(), 1)", True),
        ("class Net:\n  def build(self, a):", "Net().build(1, 2, 3)", False),
        ("class Net:\n  @staticmethod\n  def build(a):", "Net().build(1)", True),
    ],
)
def test_a_call_that_does_not_fit_is_refused(head: str, call: str, fits: bool) -> None:
    file = migrate(PROGRAM.format(head=head, call=call))
    assert codes(file, "refuse") == ([] if fits else ["TFM106"])
