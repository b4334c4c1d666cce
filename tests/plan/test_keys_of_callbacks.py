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


WATCHING = """
from keras.callbacks import EarlyStopping, ModelCheckpoint
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


{own}

model = Sequential([Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile("sgd", "mean_squared_error", metrics=['accuracy'])
parallel_model.fit(x, y, validation_data=(x, y), callbacks=[{made}])
"""
SAYS = "class Keep(ModelCheckpoint):\n    def __init__(self, path{more}):\n        super().__init__(path, {said})\n"


@pytest.mark.parametrize(
    ("own", "made"),
    [
        (SAYS.format(more="", said="monitor='val_acc'"), "Keep('w.h5')"),
        (SAYS.format(more="", said="'val_acc'"), "Keep('w.h5')"),
        (SAYS.format(more=", watched='val_acc'", said="watched"), "Keep('w.h5')"),
        (SAYS.format(more=", watched='acc'", said="watched"), "Keep('w.h5', 'val_acc')"),
        (SAYS.format(more=", **more", said="**more"), "Keep('w.h5', monitor='val_acc')"),
        ("class Stop(EarlyStopping):\n    pass\n", "Stop('val_acc')"),
        ("class Stop(EarlyStopping):\n    def __init__(self, *args):\n        super().__init__(*args)\n",
         "Stop('val_acc')"),
        ("def made(watched):\n    return EarlyStopping(watched)\n", "made('val_acc')"),
        ("def made(watched='val_acc'):\n    return EarlyStopping(patience=3, monitor=watched)\n", "made()"),
        ("class Keep(ModelCheckpoint):\n    pass\n", "Keep('w-{{val_acc:.2f}}.h5')"),
        ("def made(net):\n    return ModelCheckpoint('w.h5', 'val_acc')\n", "made(model)"),
    ],
)  # fmt: skip
def test_what_reaches_a_callback_that_watches_is_renamed(own: str, made: str) -> None:
    text = WATCHING.format(own=own, made=made).replace("{{", "{").replace("}}", "}")
    file = check_migrated(text)
    assert file.after.count("val_accuracy") == 1
    assert "val_acc'" not in file.after
    assert actions(file, "TFM210") == ["rewrite"]


@pytest.mark.parametrize(
    ("own", "made"),
    [
        (SAYS.format(more=", monitor='val_acc'", said="'val_loss'"), "Keep('w.h5')"),
        (SAYS.format(more=", word='val_acc'", said="'val_loss'"), "Keep('w.h5')"),
        (SAYS.format(more="", said="'val_loss'"), "Keep('val_acc')"),
        ("def made(word):\n    return EarlyStopping('val_loss')\n", "made('val_acc')"),
    ],
)
def test_words_that_reach_none_stay(own: str, made: str) -> None:
    file = check_migrated(WATCHING.format(own=own, made=made))
    assert "val_accuracy" not in file.after
    assert actions(file, "TFM210") == []
