"""Arguments of callbacks that Keras 3 refuses, and old Keras ignored or only drew by (TFM208)."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated

PROGRAM = """\
from {keras}.callbacks import EarlyStopping, LambdaCallback, ModelCheckpoint, ProgbarLogger, ReduceLROnPlateau
from {keras}.layers import Dense
from {keras}.models import Sequential
from {keras}.utils import multi_gpu_model

model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
parallel.fit(batches, callbacks=[{made}])
"""


@pytest.mark.parametrize(
    ("made", "after"),
    [
        ("ModelCheckpoint('a', metrics=['accuracy'])", "ModelCheckpoint('a')"),
        ("ModelCheckpoint('a', metrics=names, mode='min')", "ModelCheckpoint('a', mode='min')"),
        ("ModelCheckpoint('a', load_weights_on_restart=False)", "ModelCheckpoint('a')"),
        ("ModelCheckpoint('a', options=None)", "ModelCheckpoint('a')"),
        ("ProgbarLogger('steps')", "ProgbarLogger()"),
        ("ProgbarLogger('steps', ['loss'])", "ProgbarLogger()"),
        ("ProgbarLogger('steps', stateful_metrics=['loss'])", "ProgbarLogger()"),
        ("ProgbarLogger(count_mode='steps', stateful_metrics=['loss'])", "ProgbarLogger()"),
    ],
)
def test_it_is_removed(made: str, after: str) -> None:
    file = check_migrated(PROGRAM.format(keras="tensorflow.keras", made=made))
    assert f"callbacks=[{after}]" in file.after
    assert {*actions(file, "TFM208")} == {"rewrite"}
    assert not actions(file, "TFM501")
    assert not actions(file, "TFM503")


def test_the_argument_that_may_have_been_meant_is_named() -> None:
    file = check_migrated(PROGRAM.format(keras="tensorflow.keras", made="ModelCheckpoint('a', save_best=True)"))
    (finding,) = (finding for finding in file.findings if finding.code == "TFM208")
    assert "did you mean `save_best_only`?" in finding.message


@pytest.mark.parametrize(
    ("keras", "made", "code"),
    [
        # Standalone Keras with multi_gpu_model refused it.
        ("keras", "ModelCheckpoint('a', metrics=['accuracy'])", "TFM503"),
        ("tensorflow.keras", "EarlyStopping(metrics=['accuracy'])", "TFM503"),
        ("tensorflow.keras", "ModelCheckpoint('a', load_weights_on_restart=True)", "TFM501"),
        ("tensorflow.keras", "ModelCheckpoint('a', load_weights_on_restart=again)", "TFM501"),
        # These still take any, and do with it what they did.
        ("tensorflow.keras", "ReduceLROnPlateau(metrics=['accuracy'])", None),
        ("tensorflow.keras", "LambdaCallback(on_batch_end=print)", None),
        ("tensorflow.keras", "ModelCheckpoint('a', **settings)", None),
        ("tensorflow.keras", "ProgbarLogger(*settings)", None),
        ("tensorflow.keras", "ProgbarLogger()", None),
        ("tensorflow.keras", "ModelCheckpoint('a', monitor='loss', save_freq=3)", None),
    ],
)
def test_any_other_stays(keras: str, made: str, code: str | None) -> None:
    file = check_migrated(PROGRAM.format(keras=keras, made=made))
    assert f"callbacks=[{made}]" in file.after
    assert not actions(file, "TFM208")
    assert [f.code for f in file.findings if f.code.startswith("TFM5")] == [code] * (code is not None)


PRIVATE = PROGRAM.replace("{keras}.callbacks", "{home}", 1)


@pytest.mark.parametrize(
    "home", ["tensorflow.python.keras.callbacks", "tensorflow.compat.v1.keras.callbacks", "keras.callbacks"]
)
def test_what_a_version_knows_stays_whatever_place_the_class_comes_from(home: str) -> None:
    made = "ModelCheckpoint(filepath='a.keras', monitor='loss', save_best_only=True, mode='min')"
    file = check_migrated(PRIVATE.format(home=home, keras="tensorflow.keras", made=made))
    assert f"callbacks=[{made}]" in file.after
    assert not actions(file, "TFM208")


def test_what_no_version_knows_goes_from_a_class_of_a_private_place() -> None:
    made = "ModelCheckpoint('a', metrics=['accuracy'])"
    home = "tensorflow.python.keras.callbacks"
    file = check_migrated(PRIVATE.format(home=home, keras="tensorflow.keras", made=made))
    assert "callbacks=[ModelCheckpoint('a')]" in file.after
