"""`self.optimizer = 'adagrad'`, which compile() is given: the defaults of its time are written out (TFM301, TFM304)."""

from __future__ import annotations

import pytest

from tests.kit import actions, migrate

PROGRAM = """
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


class Trainer:
    def __init__(self, gpus, name='sgd'):
        self.optimizer = {value}
        self.model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
        self.model.compile(loss='mse', optimizer=self.optimizer)
        print(self.optimizer)


trainer = Trainer(2)
trainer.model.train_on_batch(x, y)
{line}
"""


def test_the_optimizer_is_written_out_where_the_attribute_is_set_once() -> None:
    after = migrate(PROGRAM.replace("{value}", "'adagrad'").replace("{line}", "")).after
    assert "self.optimizer = 'adagrad'" in after
    assert "Adagrad(learning_rate=0.01" in after.replace("\n", "").replace("    ", "")
    assert "print(self.optimizer)" in after


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("'adagrad'", "trainer.optimizer = 'adam'"),
        ("'adagrad'", "for trainer.optimizer in ('adam', 'sgd'):\n    pass"),
        ("'adagrad'", "with other() as trainer.optimizer:\n    pass"),
        ("'adagrad'", "setattr(trainer, name, 'adam')"),
        ("'adagrad' if name else 'adadelta'", ""),
    ],
)
def test_it_is_told_where_it_may_be_another(value: str, line: str) -> None:
    file = migrate(PROGRAM.replace("{value}", value).replace("{line}", line))
    assert "optimizer=self.optimizer" in file.after
    assert "warn" in actions(file, "TFM301")
