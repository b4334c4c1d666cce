"""`layer.add_loss(l2(0.1)(layer.kernel))`: which calls become a regularizer of the weight, and which are left alone."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated

PROGRAM = """\
from tensorflow.keras import regularizers
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.regularizers import l2
from tensorflow.keras.utils import multi_gpu_model

model = Sequential([Dense(2, input_shape=(4,)), Dense(1)])
first = model.layers[0]
for layer in model.layers:
    {line}
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "hinge")
parallel.fit(batches)
"""


@pytest.mark.parametrize(
    ("line", "new"),
    [
        ("layer.add_loss(l2(0.1)(layer.kernel))", "add_penalty(layer, layer.kernel, l2(0.1))"),
        ("layer.add_loss(regularizers.l1(rate)(layer.bias))", "add_penalty(layer, layer.bias, regularizers.l1(rate))"),
        ("model.layers[0].add_loss(l2(1)(model.layers[0].kernel))",
         "add_penalty(model.layers[0], model.layers[0].kernel, l2(1))"),
    ],
)  # fmt: skip
def test_a_penalty_of_a_layers_own_weight_becomes_its_regularizer(line: str, new: str) -> None:
    file = check_migrated(PROGRAM.format(line=line))
    assert f"    {new}\n" in file.after
    assert file.after.count("def add_penalty(") == 1
    assert actions(file, "TFM430") == ["rewrite"]


@pytest.mark.parametrize(
    "line",
    [
        "layer.add_loss(l2(0.1)(first.kernel))",
        "layer.add_loss(penalty(layer.kernel))",
        "layer.add_loss(0.1)",
        "layer.add_loss([l2(0.1)(layer.kernel)])",
        "layer.add_loss(l2(0.1)(layer.kernel), inputs=True)",
        "layer.add_loss(lambda: l2(0.1)(layer.kernel))",
    ],
)
def test_any_other_call_of_add_loss_stays(line: str) -> None:
    file = check_migrated(PROGRAM.format(line=line))
    assert f"    {line}\n" in file.after
    assert actions(file, "TFM430") == []


def test_a_name_of_the_program_is_not_taken() -> None:
    text = PROGRAM.format(line="layer.add_loss(l2(0.1)(layer.kernel))") + "\n\ndef add_penalty():\n    pass\n"
    assert "add_penalty_2(layer, layer.kernel, l2(0.1))" in check_migrated(text).after
