"""TFM261: decorators of keras.legacy, on methods of classes of one's own."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated

PROGRAM = """
from keras.layers import Dense
{line}
from keras.models import Sequential
from keras.optimizers import Optimizer
from keras.utils import multi_gpu_model


class Own(Optimizer):
    {above}
    def get_updates(self, loss, params):
        return []


model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile(loss="mse", optimizer="sgd")
parallel_model.train_on_batch(x, y)
"""


@pytest.mark.parametrize(
    ("line", "above", "left"),
    [
        ("from keras.legacy import interfaces", "@interfaces.legacy_get_updates_support", ""),
        ("import keras", "@keras.legacy.interfaces.legacy_get_updates_support", ""),
        (
            "from keras.legacy.interfaces import legacy_get_updates_support",
            "@counted\n    @legacy_get_updates_support",
            "    @counted\n",
        ),
    ],
)
def test_the_decorator_and_its_import_go(line: str, above: str, left: str) -> None:
    file = check_migrated(PROGRAM.format(line=line, above=above))
    assert "legacy" not in file.after
    assert f"class Own(Optimizer):\n{left}    def get_updates(" in file.after
    assert actions(file, "TFM261") == ["rewrite"]


def test_what_else_the_module_has_is_left() -> None:
    line, above = "from keras.legacy import interfaces", "@interfaces.generate_legacy_interface()"
    file = check_migrated(PROGRAM.format(line=line, above=above))
    assert above in file.after
    assert actions(file, "TFM261") == []
    assert "warn" in actions(file, "TFM501")
