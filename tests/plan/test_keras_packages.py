"""Imports of packages that were written for standalone Keras and fail beside Keras 3 (TFM254)."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, migrate, with_model


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("from keras_radam import RAdam", ["no keras.engine"]),
        ("import keras_resnet.models", ["has no shape"]),
        ("import keras_vggface", ["no layer_utils"]),
        ("from keras_vggface.vggface import VGGFace as Face", ["no layer_utils"]),
        ("from keras_bert import *", ["TF_KERAS=1"]),
        ("import os, keras_adamw.optimizers as o", ["tf.keras.optimizers.AdamW"]),
        ("from keras_radam import RAdam\nfrom keras_radam.training import RAdamOptimizer", ["no keras.engine"]),
        ("import keras_metrics\nimport textgenrnn", ["Precision and Recall", "no multi_gpu_model"]),
    ],
)
def test_each_package_is_reported_once(line: str, said: list[str]) -> None:
    file = check_migrated(with_model(line))
    messages = [finding.message for finding in file.findings if finding.code == "TFM254"]
    assert len(messages) == len(said)
    assert all(part in message for part, message in zip(said, messages))
    assert line in file.after


@pytest.mark.parametrize(
    "line",
    [
        "from keras_self_attention import SeqSelfAttention",
        "import keras_tuner",
        "import keras_radam_tools",
        "from .keras_radam import RAdam",
        "from own.keras_radam import RAdam",
        "name = 'keras_radam'",
    ],
)
def test_other_imports_are_not(line: str) -> None:
    assert not actions(migrate(with_model(line)), "TFM254")


@pytest.mark.parametrize("path", ["keras_radam/optimizers", "keras_radam"])
def test_a_package_of_the_program_is_not_reported(path: str) -> None:
    copy = "from keras.optimizers import Optimizer\n\n\nclass RAdam(Optimizer):\n    pass\n"
    line = f"from {path.replace('/', '.')} import RAdam"
    assert not actions(migrate(with_model(line), **{path: copy}), "TFM254")


def test_nothing_is_said_outside_of_a_migration() -> None:
    assert not migrate("from keras_radam import RAdam\n\noptimizer = RAdam()\n").findings
