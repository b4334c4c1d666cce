"""Imports of keras_contrib (TFM288)."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, migrate, with_model


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("from keras_contrib.layers import InstanceNormalization", ["groups=-1"]),
        ("from keras_contrib.layers.normalization import InstanceNormalization as Norm", ["groups=-1"]),
        ("from keras_contrib.layers import CRF, Swish", ["no such layer", "silu"]),
        ("from keras_contrib.callbacks import CyclicLR", ["copy the code that you use"]),
        ("from keras_contrib import losses", ["copy the code that you use"]),
        ("from keras_contrib.layers import *", ["copy the code that you use"]),
        ("import keras_contrib", ["copy the code that you use"]),
        ("import os, keras_contrib.layers as extra", ["copy the code that you use"]),
        ("try:\n    import keras_contrib\nexcept ImportError:\n    pass", ["copy the code that you use"]),
    ],
)
def test_each_name_is_reported_with_what_replaces_it(line: str, said: list[str]) -> None:
    file = check_migrated(with_model(line))
    messages = [finding.message for finding in file.findings if finding.code == "TFM288"]
    assert len(messages) == len(said)
    assert all(part in message for part, message in zip(said, messages))
    assert line.splitlines()[0] in file.after


@pytest.mark.parametrize(
    "line",
    [
        "import keras_contrib_tools",
        "from keras_contrib_tools.layers import CRF",
        "from .keras_contrib.layers import CRF",
        "from own.keras_contrib import CRF",
        "from layers import InstanceNormalization",
        "name = 'keras_contrib'",
    ],
)
def test_other_imports_are_not(line: str) -> None:
    assert not actions(migrate(with_model(line)), "TFM288")


def test_a_copy_in_the_program_is_not_reported() -> None:
    copy = "from keras.layers import Layer\n\n\nclass CRF(Layer):\n    pass\n"
    file = migrate(with_model("from keras_contrib.crf import CRF"), **{"keras_contrib/crf": copy})
    assert not actions(file, "TFM288")


def test_nothing_is_said_outside_of_a_migration() -> None:
    assert not migrate("from keras_contrib.layers import CRF\n\nlayer = CRF(5)\n").findings
