"""Arguments of a kernel that separable and depthwise layers do not have."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, with_model

IMPORTS = "from keras import layers\nfrom keras.layers import DepthwiseConv2D, SeparableConv1D, SeparableConv2D\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("SeparableConv2D(8, 3, kernel_initializer='he_normal')", "SeparableConv2D(8, 3)"),
        ("SeparableConv2D(8, 3, **more, kernel_constraint=None)", "SeparableConv2D(8, 3, **more)"),
        ("layers.SeparableConvolution2D(8, 3, kernel_regularizer='l2')", "layers.SeparableConvolution2D(8, 3)"),
        ("SeparableConv1D(8, 3, kernel_regularizer='l2', name='a')", "SeparableConv1D(8, 3, name='a')"),
        ("DepthwiseConv2D(3, kernel_initializer=ones, kernel_regularizer='l2')", "DepthwiseConv2D(3)"),
    ],
)
def test_what_did_nothing_goes(before: str, after: str) -> None:
    file = check_migrated(with_model(f"{IMPORTS}layer = {before}"))
    assert f"layer = {after}\n" in file.after
    assert set(actions(file, "TFM253")) == {"rewrite"}
    assert not actions(file, "TFM501")


@pytest.mark.parametrize(
    "code",
    [
        "layer = layers.Conv2D(8, 3, kernel_initializer='he_normal')",
        "layer = SeparableConv2D(8, 3, depthwise_initializer='he_normal', bias_initializer='zeros')",
        "layer = SeparableConv2D(8, 3, **{'kernel_initializer': 'he_normal'})",
        "class Own(layers.SeparableConv2D):\n    pass\n\nlayer = Own(8, 3, kernel_initializer='he_normal')",
    ],
)
def test_any_other_argument_stays(code: str) -> None:
    file = check_migrated(with_model(f"{IMPORTS}{code}"))
    assert code in file.after.replace("tf.keras.layers", "layers")
    assert not actions(file, "TFM253")
