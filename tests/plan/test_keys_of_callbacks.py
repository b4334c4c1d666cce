"""Keys of the log that a callback of the program keeps in an attribute (TFM210)."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated

PROGRAM = """
from keras.callbacks import Callback
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


class Kept(Callback):
    def __init__(self, watched='val_acc', other='val_acc'):
        super().__init__()
        {set_}
        self.rising = {compared} == 'val_acc'
        self.word = 'val_acc'

    def on_epoch_end(self, epoch, logs=None):
        print({read})


model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile("sgd", "mse", metrics=['accuracy'])
parallel_model.fit(x, y, validation_data=(x, y), callbacks=[Kept()])
"""


@pytest.mark.parametrize("read", ["logs.get(self.key)", "logs[self.key]", "self.key in logs and 1"])
@pytest.mark.parametrize("compared", ["self.key", "watched"])
def test_the_default_and_what_it_is_compared_with_are_renamed(read: str, compared: str) -> None:
    file = check_migrated(PROGRAM.format(set_="self.key = watched", compared=compared, read=read))
    assert "watched='val_accuracy', other='val_acc'" in file.after
    assert f"{compared} == 'val_accuracy'" in file.after
    assert "self.word = 'val_acc'\n" in file.after


def test_so_is_a_literal() -> None:
    file = check_migrated(PROGRAM.format(set_="self.key = 'val_acc'", compared="self.key", read="logs[self.key]"))
    assert "self.key = 'val_accuracy'" in file.after


@pytest.mark.parametrize("read", ["self.logs.get(self.key)", "table[self.key]", "logs.get(other.key)"])
def test_what_is_no_key_of_a_log_stays(read: str) -> None:
    file = check_migrated(PROGRAM.format(set_="self.key = watched", compared="self.key", read=read))
    assert actions(file, "TFM210") == []


def test_a_part_of_the_name_stays() -> None:
    code = PROGRAM.format(set_="self.key = watched", compared="self.key", read="logs[self.key]")
    file = check_migrated(code.replace("self.key == 'val_acc'", "'acc' in self.key"))
    assert "self.rising = 'acc' in self.key" in file.after
