"""The companions alone, or not at all: `--select` and `--ignore`."""

from __future__ import annotations

import pytest

from tfmigrate.result import FileResult
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

PROGRAM = """\
import tensorflow as tf
from keras import backend as K
from keras.callbacks import EarlyStopping, ModelCheckpoint
from keras.layers.core import Dense
from keras.layers.recurrent import LSTM
from keras.models import Sequential
from keras.optimizers import SGD
from keras.utils import Sequence, multi_gpu_model

config = tf.ConfigProto()
config.gpu_options.allow_growth = True
K.set_session(tf.Session(config=config))


def dice_loss(y_true, y_pred):
    return 1.0 - 2.0 * K.sum(y_true * y_pred) / (K.sum(y_true) + K.sum(y_pred))


model = Sequential([LSTM(4, recurrent_activation='hard_sigmoid', input_shape=(8, 8)), Dense(1)])
parallel_model = multi_gpu_model(model, gpus=2)
stop = EarlyStopping(monitor='val_acc')
best = ModelCheckpoint('best.h5', save_weights_only=True, period=1)
parallel_model.compile(optimizer='adadelta', loss='mse', metrics=['accuracy'])
parallel_model.compile(optimizer=SGD(lr=0.2, decay=1e-2), loss=dice_loss)
parallel_model.fit_generator(train, 3, callbacks=[stop, best], workers=4)
"""
COMPANIONS = ("TFM2", "TFM3", "TFM4", "TFM5", "TFM6")


def migrated(**settings: tuple[str, ...]) -> FileResult:
    (file,) = migrate_sources({"rows.py": PROGRAM}, Settings(**settings))  # type: ignore[arg-type]
    assert file.error is None
    return file


def kinds(file: FileResult) -> set[str]:
    return {finding.code[:4] for finding in file.findings}


def test_the_program_has_every_kind_of_companion() -> None:
    assert {"TFM0", "TFM2", "TFM3", "TFM4"} <= kinds(migrated())


@pytest.mark.parametrize("asked", [{"select": COMPANIONS}, {"ignore": ("TFM0", "TFM1")}])
def test_the_companions_alone(asked: dict[str, tuple[str, ...]]) -> None:
    file = migrated(**asked)
    assert file.status == "migrated"
    assert kinds(file) == {"TFM2", "TFM3", "TFM4"}
    assert "from tensorflow.keras.utils import Sequence, multi_gpu_model\n" in file.after
    assert "parallel_model = multi_gpu_model(model, gpus=2)\n" in file.after
    assert "MirroredStrategy" not in file.after
    alone = {(f.line, f.code) for f in file.findings}
    assert alone == {(f.line, f.code) for f in migrated().findings if f.code[:4] in ("TFM2", "TFM3", "TFM4")}


def test_not_at_all() -> None:
    file = migrated(ignore=COMPANIONS)
    assert file.status == "migrated"
    assert kinds(file) == {"TFM0"}
    assert "MirroredStrategy" in file.after
    for kept in ("from keras.layers.core import", "tf.ConfigProto()", "'adadelta'", "lr=0.2", "'val_acc'", "period=1",
                 "workers=4", "loss=dice_loss", "'hard_sigmoid'"):  # fmt: skip
        assert kept in file.after


def test_one_alone() -> None:
    file = migrated(select=("TFM209",))
    assert [(f.code, f.action) for f in file.findings] == [("TFM209", "rewrite")]
    assert file.after == PROGRAM.replace(", period=1)", ")")


def test_names_that_rules_left_out_would_mend_are_reported() -> None:
    told = {(f.line, f.message.split(" ")[0]) for f in migrated(select=("TFM5",)).findings}
    assert told >= {
        (10, "tensorflow.ConfigProto"),
        (12, "keras.backend.set_session"),
        (22, "keras.callbacks.ModelCheckpoint()"),
        (25, "keras.Model.fit_generator"),
    }
