from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tfmigrate.verify.judge.beside import lost_callbacks, lost_files, lost_metrics
from tfmigrate.verify.run.trace import Trace

from .simulated import Training, migrated, train


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("best.h5", "best.weights.h5"),
        ("best.h5.weights.h5", "best.weights.h5"),
        ("runs/model.hdf5", "runs/model.keras"),
        ("weights.01-0.69.h5", "weights.01-0.71.weights.h5"),
        ("model.h5", "model/saved_model.pb"),
        ("w.h5", "w.data-00000-of-00001"),
        ("logs/events.out.tfevents.1.host", "logs/train/events.out.tfevents.2.host.v2"),
        ("log.csv", "log.csv"),
    ],
)
def test_a_file_under_another_ending_is_not_lost(old: str, new: str) -> None:
    assert not list(lost_files([[old]], [new]))


def test_a_file_that_is_no_longer_written_is_lost() -> None:
    assert list(lost_files([["best.h5", "final.h5"]], ["final.weights.h5"])) == [
        "the old script writes best.h5, the new one does not"
    ]
    assert not list(lost_files([["best.h5"], []], [])), "the other old run did without, too"
    assert not list(lost_files([["__pycache__/a.cpython-37.pyc", "checkpoint"]], []))
    assert not list(lost_files([], ["best.h5"]))


def callbacks(old: str, new: str) -> list[str]:
    return list(lost_callbacks({"train.py": old.encode()}, {"train.py": new.encode()}))


STOP = "c = [EarlyStopping(monitor='val_acc', patience=3), callbacks.ModelCheckpoint('a.h5')]\n"


def test_callbacks_that_are_lost_or_set_otherwise() -> None:
    lost = "the old program creates EarlyStopping, the new one none"
    assert callbacks(STOP, "c = [ModelCheckpoint('a.h5')]") == [lost]
    assert callbacks(STOP, STOP.replace("3", "5")) == [
        "the old program creates EarlyStopping(monitor='val_accuracy', patience=3), "
        "the new one EarlyStopping(monitor='val_accuracy', patience=5)"
    ]
    assert callbacks(STOP + STOP, STOP)[0] == "the old program creates EarlyStopping, the new one fewer"


def test_callbacks_that_are_the_same() -> None:
    assert not callbacks(STOP, STOP.replace("'val_acc'", "'val_accuracy'").replace("a.h5", "a.weights.h5"))
    assert not callbacks(STOP, "d = [TensorBoard()]\n" + STOP)
    assert not callbacks("mine = SaveTemplate(model)", "")


EVERY = "class Every({base}):\n    pass\n\n\nc = [Every('a.h5', monitor='val_acc')]\n"


def test_a_class_made_from_a_callback_counts_as_it() -> None:
    made, plain = (
        EVERY.format(base="keras.callbacks.ModelCheckpoint"),
        "c = [ModelCheckpoint('a.h5', monitor='val_acc')]",
    )
    assert not callbacks(plain, made)
    assert not callbacks(made, plain)
    assert callbacks(made, "") == ["the old program creates ModelCheckpoint, the new one none"]
    assert not callbacks(EVERY.format(base="Callback"), "")
    assert not callbacks("class A(B):\n    pass\n\n\nclass B(A):\n    pass\n\n\nA()\n", "")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("EarlyStopping(monitor='val_dice', patience=3)", "EarlyStopping(monitor='val_dice', patience=3, mode='max')"),
        ("EarlyStopping(monitor='val_mean_squared_error')", "EarlyStopping(monitor='val_mse')"),
        ("EarlyStopping(monitor='val_dense_1_acc')", "EarlyStopping(monitor='val_accuracy')"),
        ("ReduceLROnPlateau(factor=0.1, epsilon=1e-3)", "ReduceLROnPlateau(factor=0.1, min_delta=1e-3)"),
        (
            "ModelCheckpoint('a.h5', monitor='val_acc', mode='auto')",
            "ModelCheckpoint('a.keras', monitor='val_accuracy')",
        ),
    ],
)
def test_what_a_migration_writes_otherwise_is_the_same(old: str, new: str) -> None:
    assert not callbacks(old, new)


def test_another_quantity_is_watched() -> None:
    assert callbacks("EarlyStopping(monitor='val_loss')", "EarlyStopping(monitor='loss')")
    assert callbacks("EarlyStopping(monitor='val_loss')", "EarlyStopping(monitor='val_acc')")


def test_a_file_that_is_no_python_says_nothing() -> None:
    assert not callbacks("not Python (", "")


def logging(trace: Trace, **values: float) -> Trace:
    return replace(trace, epochs=tuple(replace(e, logs={**e.logs, **values}) for e in trace.epochs))


def test_metrics_that_are_lost_or_logged_otherwise(tmp_path: Path) -> None:
    old, new = train(tmp_path / "old", Training()), train(tmp_path / "new", migrated(Training()))
    assert list(lost_metrics(logging(old, accuracy=0.5, val_accuracy=0.4), new)) == [
        "the old script logs accuracy, val_accuracy, the new one does not"
    ]
    assert list(lost_metrics(logging(old, dice=0.5), logging(new, dice=0.6))) == [
        "dice is logged as 0.6 where it was 0.5 (epoch 0)"
    ]
    assert not list(lost_metrics(logging(old, dice=0.5, lr=0.1), logging(new, dice=0.501, learning_rate=0.2)))
    assert not list(lost_metrics(logging(old, acc=0.5, val_acc=0.4), logging(new, accuracy=0.5, val_accuracy=0.4)))
    assert not list(lost_metrics(logging(old, head_loss=0.5), logging(new, head_loss=1.0)))


def test_validation_after_batch_norm_is_not_held_against_the_metrics(tmp_path: Path) -> None:
    how = Training(moving_averages=True)
    old, new = train(tmp_path / "old", how), train(tmp_path / "new", migrated(how))
    assert not list(lost_metrics(logging(old, val_dice=0.5), logging(new, val_dice=0.6)))
