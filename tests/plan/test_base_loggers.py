"""Classes that descend from BaseLogger (TFM220), and the flags of TensorFlow 1 (TFM204)."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, migrate, with_model

MONITOR = """\
from keras.callbacks import BaseLogger


class Monitor({base}):
    def __init__(self, path):
        super(Monitor, self).__init__({arguments})
        self.path = path

    def {method}(self, epoch, logs=None):
        {line}

"""
WHOLE = {"base": "BaseLogger", "arguments": "", "method": "on_epoch_end", "line": "print(logs)"}


@pytest.mark.parametrize(
    "line",
    [
        "print(logs)",
        "self.model.save(self.path)",
        "super(Monitor, self).on_train_end(logs)",
        "self.wrapped.totalled = 1",
    ],
)
def test_a_class_with_its_own_end_of_an_epoch_is_a_callback(line: str) -> None:
    file = check_migrated(with_model(MONITOR.format(**{**WHOLE, "line": line})))
    assert "class Monitor(tf.keras.callbacks.Callback):" in file.after
    assert "BaseLogger" not in file.after
    assert (actions(file, "TFM220"), actions(file, "TFM501")) == (["rewrite"], [])


@pytest.mark.parametrize(
    "change",
    [
        {"method": "on_epoch_begin"},
        {"line": "super(Monitor, self).on_epoch_end(epoch, logs)"},
        {"line": "super().on_epoch_end(epoch, logs)"},
        {"line": "BaseLogger.on_epoch_end(self, epoch, logs)"},
        {"line": "print(self.totals)"},
        {"line": "print(self.seen)"},
        {"arguments": "stateful_metrics=['acc']"},
        {"arguments": "['acc']"},
    ],
)
def test_one_that_takes_its_averages_is_told(change: dict[str, str]) -> None:
    file = migrate(with_model(MONITOR.format(**{**WHOLE, **change})))
    assert "class Monitor(BaseLogger):" in file.after
    assert "warn" in actions(file, "TFM501")


def test_other_classes_stay() -> None:
    base = "class BaseLogger:\n    pass\n\n\n" + MONITOR.format(**WHOLE).partition("\n\n\n")[2]
    assert "class Monitor(BaseLogger):" in migrate(with_model(base)).after
    plain = MONITOR.format(**WHOLE).replace("BaseLogger", "Callback")
    assert "class Monitor(Callback):" in check_migrated(with_model(plain)).after


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("import tensorflow as tf\nflags = tf.app.flags", "flags = tf.compat.v1.app.flags"),
        ("import tensorflow as tf\ntf.app.run(main)", "tf.compat.v1.app.run(main)"),
        (
            "import tensorflow as tf\ntf.flags.DEFINE_string('a', '', '')",
            "tf.compat.v1.flags.DEFINE_string('a', '', '')",
        ),
        ("import tensorflow as tf\nflags = tf.compat.v1.app.flags", "flags = tf.compat.v1.app.flags"),
        ("from absl import app, flags", "from absl import app, flags"),
        ("from flask import app\napp.run()", "app.run()"),
    ],
)
def test_flags(line: str, written: str) -> None:
    file = check_migrated(with_model(line))
    assert f"\n{written}\n" in file.after
    assert not actions(file, "TFM501")
