"""TFM260: the ResNet50 of standalone Keras is another network."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated

PROGRAM = """
{line}
from {package}.utils import multi_gpu_model

model = {name}(weights=None)
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile(loss="categorical_crossentropy", optimizer="sgd")
parallel_model.train_on_batch(x, y)
"""


@pytest.mark.parametrize(
    ("line", "package", "name", "said"),
    [
        ("from keras.applications import ResNet50", "keras", "ResNet50", ["warn"]),
        ("from keras.applications import resnet50", "keras", "resnet50.ResNet50", ["warn"]),
        ("import keras", "keras", "keras.applications.resnet50.ResNet50", ["warn"]),
        ("from keras.applications import VGG16", "keras", "VGG16", []),
        ("from tensorflow.keras.applications import ResNet50", "tensorflow.keras", "ResNet50", []),
    ],
)
def test_the_network_of_standalone_keras_is_reported(line: str, package: str, name: str, said: list[str]) -> None:
    file = check_migrated(PROGRAM.format(line=line, package=package, name=name))
    assert actions(file, "TFM260") == said
