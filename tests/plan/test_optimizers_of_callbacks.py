"""The optimizer of a callback's model under another name, as in Keras's own answer to how to print the rate."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated

PROGRAM = """\
from keras import backend as K
from keras.callbacks import Callback
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


class Rates({base}):
    def on_epoch_end(self, epoch, logs=None):
        optimizer = {optimizer}
        {code}


model = Sequential([Dense(2, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
parallel.fit(x, y, callbacks=[Rates()])
"""


@pytest.mark.parametrize(
    ("code", "after"),
    [
        ("print(K.get_value(optimizer.lr))", "print(K.get_value(optimizer.learning_rate))"),
        ("K.set_value(optimizer.lr, 0.1)", "optimizer.learning_rate.assign(0.1)"),
    ],
)
def test_it_is_an_optimizer_under_its_new_name(code: str, after: str) -> None:
    file = check_migrated(PROGRAM.format(base="Callback", optimizer="self.model.optimizer", code=code))
    assert after in file.after
    assert actions(file, "TFM212") == ["rewrite"]


@pytest.mark.parametrize("attribute", ["decay", "initial_decay"])
def test_what_is_computed_of_its_decay_is_reported(attribute: str) -> None:
    code = f"print(K.eval(optimizer.lr * (1 - optimizer.{attribute})))"
    file = check_migrated(PROGRAM.format(base="Callback", optimizer="self.model.optimizer", code=code))
    assert f"optimizer.learning_rate * (1 - optimizer.{attribute})" in file.after
    assert sorted(actions(file, "TFM212")) == ["rewrite", "warn"]


@pytest.mark.parametrize(
    ("base", "optimizer"),
    [("object", "self.model.optimizer"), ("Callback", "self.other.optimizer"), ("Callback", "self")],
)
def test_what_may_be_no_optimizer_is_left_alone(base: str, optimizer: str) -> None:
    file = check_migrated(PROGRAM.format(base=base, optimizer=optimizer, code="print(optimizer.lr, optimizer.decay)"))
    assert "print(optimizer.lr, optimizer.decay)" in file.after
    assert actions(file, "TFM212") == []
