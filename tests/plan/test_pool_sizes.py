"""The pool size of average pooling, written out where it was left to Keras."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, with_model

IMPORTS = "from keras.layers import AveragePooling1D, AveragePooling2D, AveragePooling3D, MaxPooling2D\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("AveragePooling1D()", "AveragePooling1D(pool_size=2)"),
        ("AveragePooling2D(padding='same')", "AveragePooling2D(padding='same', pool_size=(2, 2))"),
        ("AveragePooling3D()", "AveragePooling3D(pool_size=(2, 2, 2))"),
    ],
)
def test_the_default_is_written_out(old: str, new: str) -> None:
    file = check_migrated(with_model(f"{IMPORTS}layer = {old}"))
    assert f"layer = {new}\n" in file.after
    assert actions(file, "TFM250") == ["rewrite"]


@pytest.mark.parametrize(
    "call", ["AveragePooling2D(3)", "AveragePooling2D(pool_size=3)", "AveragePooling2D(**settings)", "MaxPooling2D()"]
)
def test_others_stay(call: str) -> None:
    file = check_migrated(with_model(f"{IMPORTS}layer = {call}"))
    assert f"layer = {call}\n" in file.after
    assert actions(file, "TFM250") == []
