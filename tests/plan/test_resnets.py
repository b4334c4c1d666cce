"""TFM260: the ResNet50 of standalone Keras is another network."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.kit import SETTINGS, actions, check_migrated

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


BEHIND = "needs this layer behind it"
TOPLESS = """
from keras.applications import ResNet50
from keras.layers import Dense, Flatten, GlobalAveragePooling2D
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([ResNet50({arguments}), {layer}, Dense(3)])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile(loss="mse", optimizer="sgd")
parallel_model.train_on_batch(x, y)
"""


@pytest.mark.parametrize(
    ("arguments", "layer", "version", "said"),
    [
        ("include_top=False, weights=None", "Flatten()", "keras==2.1.6", True),
        ("False, None", "Flatten()", None, True),
        ("False, None", "Flatten()", "keras==2.2.4", False),
        ("include_top=False, pooling='avg'", "Flatten()", None, False),
        ("include_top=False, pooling='max'", "Flatten()", None, True),
        ("include_top=False", "GlobalAveragePooling2D()", None, False),
        ("weights=None", "Flatten()", "keras==2.1.6", False),
    ],
)
def test_before_keras_2_2_it_ended_in_a_mean(arguments: str, layer: str, version: str | None, said: bool) -> None:
    file = check_migrated(TOPLESS.format(arguments=arguments, layer=layer), replace(SETTINGS, from_version=version))
    (message,) = (finding.message for finding in file.findings if finding.code == "TFM260")
    assert (BEHIND in message) is said
