"""The parameter for the logs of a batch: renamed where Keras passes it by name, and nowhere else."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, with_model

CLASS = """
from keras.callbacks import Callback, LambdaCallback

class Own({base}):
    def {method}
"""


def callback(method: str, base: str = "Callback") -> str:
    return with_model(CLASS.format(base=base, method=method))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "on_batch_end(self, batch, log={}):\n        print(log)",
            "on_batch_end(self, batch, logs={}):\n        print(logs)",
        ),
        ("on_batch_begin(self, epoch, values):\n        pass", "on_batch_begin(self, epoch, logs):\n        pass"),
        (
            "on_train_batch_end(self, n, l=None):\n        self.f = lambda: l['loss']",
            "on_train_batch_end(self, n, logs=None):\n        self.f = lambda: logs['loss']",
        ),
    ],
)
def test_the_parameter_is_renamed_with_its_uses(old: str, new: str) -> None:
    file = check_migrated(callback(old))
    assert f"    def {new}\n" in file.after
    assert actions(file, "TFM244") == ["rewrite"]


def test_that_of_a_lambda_too() -> None:
    line = (
        "hook = LambdaCallback(on_batch_end=lambda batch, l: print(l['loss']), on_epoch_end=lambda epoch, l: print(l))"
    )
    file = check_migrated(with_model(f"from keras.callbacks import LambdaCallback\n{line}"))
    new = "on_batch_end=lambda batch, logs: print(logs['loss']), on_epoch_end=lambda epoch, l: print(l))"
    assert f"hook = LambdaCallback({new}\n" in file.after


@pytest.mark.parametrize(
    "method",
    ["on_batch_end(self, *what):\n        print(what)", "on_batch_end(self, batch, log):\n        logs = log"],
)
def test_what_cannot_be_renamed_is_told(method: str) -> None:
    file = check_migrated(callback(method))
    assert f"    def {method}\n" in file.after
    assert actions(file, "TFM244") == ["warn"]


@pytest.mark.parametrize(
    ("method", "base"),
    [
        ("on_batch_end(self, batch, logs=None):\n        print(logs)", "Callback"),
        ("on_batch_end(self, batch, log=None, **others):\n        print(log)", "Callback"),
        ("on_batch_end(self, batch, *, logs):\n        print(logs)", "Callback"),
        ("on_epoch_end(self, epoch, log):\n        print(log)", "Callback"),
        ("on_train_begin(self, log):\n        print(log)", "Callback"),
        ("on_batch_end(self, batch):\n        print(batch)", "Callback"),
        ("on_batch_end(self, batch, log):\n        print(log)", "object"),
        ("on_batch_end(self, batch, log):\n        print(log)", "unknown.Callback"),
    ],
)
def test_others_stay(method: str, base: str) -> None:
    file = check_migrated(callback(method, base))
    assert f"    def {method}\n" in file.after
    assert actions(file, "TFM244") == []


@pytest.mark.parametrize(
    "method",
    [
        "on_batch_end(self, batch, logs=None):\n        self.seen += logs.get('size', 0)",
        "on_batch_end(self, batch, logs=None):\n        self.seen += logs['size']",
        "on_batch_begin(self, batch, logs={}):\n        print(logs['batch'])",
        "on_train_batch_end(self, batch, logs={}):\n        if logs:\n            print(logs['size'])",
    ],
)
def test_what_the_logs_of_a_batch_no_longer_hold_is_told(method: str) -> None:
    file = check_migrated(callback(method))
    assert method in file.after
    assert actions(file, "TFM244") == ["warn"]


def test_it_is_told_of_a_parameter_that_is_renamed_and_of_a_lambda() -> None:
    renamed = check_migrated(callback("on_batch_end(self, batch, l):\n        print(l['size'])"))
    assert "print(logs['size'])" in renamed.after
    assert sorted(actions(renamed, "TFM244")) == ["rewrite", "warn"]
    line = "hook = LambdaCallback(on_batch_end=lambda batch, logs: print(logs.get('size')))"
    short = check_migrated(with_model(f"from keras.callbacks import LambdaCallback\n{line}"))
    assert actions(short, "TFM244") == ["warn"]


@pytest.mark.parametrize(
    "method",
    [
        "on_batch_end(self, batch, logs=None):\n        print(logs['loss'], logs.get('acc'))",
        "on_epoch_end(self, epoch, logs=None):\n        print(logs.get('size'))",
        "on_batch_end(self, batch, logs=None):\n        print(self.sizes['size'], options.get('batch'))",
        "on_batch_end(self, batch, logs=None):\n        print(logs[size], logs.get(batch))",
        "add(self, batch, logs):\n        print(logs['size'])",
    ],
)
def test_other_keys_and_other_dicts_are_not(method: str) -> None:
    assert "warn" not in actions(check_migrated(callback(method)), "TFM244")
