"""Arguments of load_img() (TFM285) and of ImageDataGenerator (TFM286)."""

from __future__ import annotations

import pytest

from tests import forks
from tests.kit import actions, migrate, with_model

IMPORTS = "from keras.preprocessing.image import ImageDataGenerator, load_img\n"


def migrated(line: str, code: str) -> tuple[str, list[str]]:
    """The line as it is written then, and what was done."""
    file = migrate(with_model(f"{IMPORTS}{line}"))
    return next(after for after in file.after.splitlines() if "load_img(" in after), actions(file, code)


@pytest.mark.parametrize(
    ("given", "after"),
    [
        ("p, grayscale=True", 'p, color_mode="grayscale"'),
        ("p, grayscale=True, target_size=(8, 8)", 'p, color_mode="grayscale", target_size=(8, 8)'),
        ("p, grayscale=False, target_size=(8, 8)", "p, target_size=(8, 8)"),
        ("p, grayscale=flag", 'p, color_mode="grayscale" if flag else "rgb"'),
        ("p, True", 'p, color_mode="grayscale"'),
        ("p, False", "p"),
        ("p, True, (8, 8)", 'p, color_mode="grayscale", target_size=(8, 8)'),
        ("p, False, [8, 8], 'nearest'", "p, target_size=[8, 8], interpolation='nearest'"),
        ("p, False, None", "p, target_size=None"),
        ("p, False, 'rgba', (8, 8)", "p, color_mode='rgba', target_size=(8, 8)"),
        ("p, grayscale=False, color_mode='rgba'", "p, color_mode='rgba'"),
    ],
)
def test_grayscale_is_a_color_mode(given: str, after: str) -> None:
    assert migrated(f"picture = load_img({given})", "TFM285") == (f"picture = load_img({after})", ["rewrite"])


@pytest.mark.parametrize("given", ["p, False, size", "p, True, 'rgb', (8, 8)", "p, grayscale=flag, color_mode=mode"])
def test_what_cannot_be_told_apart_is_reported(given: str) -> None:
    assert migrated(f"picture = load_img({given})", "TFM285") == (f"picture = load_img({given})", ["warn"])


@pytest.mark.parametrize("given", ["p", "p, target_size=(8, 8)", "p, color_mode='grayscale'", "p, **options", "*given"])
def test_other_calls_stay(given: str) -> None:
    assert migrated(f"picture = load_img({given})", "TFM285") == (f"picture = load_img({given})", [])


def test_another_function_of_that_name_stays() -> None:
    text = with_model("from own import load_img\n\npicture = load_img(p, True)")
    assert not actions(migrate(text), "TFM285")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("brightness_range=(0.5, 1.5)", ["warn"]),
        ("brightness_range=given", ["warn"]),
        ("False, False, False, False, False, 1e-6, 0, 0, 0, (0.5, 1.5)", ["warn"]),
        ("brightness_range=None", []),
        ("rotation_range=20, rescale=1 / 255", []),
        ("", []),
        ("**options", []),
    ],
)
def test_a_range_of_brightness_is_reported(given: str, told: list[str]) -> None:
    file = migrate(with_model(f"{IMPORTS}generator = ImageDataGenerator({given})\n"))
    assert actions(file, "TFM286") == told


@pytest.mark.parametrize("function", ["one_hot", "text_to_word_sequence"])
def test_the_text_is_called_otherwise(function: str) -> None:
    lines = f"from keras.preprocessing.text import {function}\n\nwords = {function}(text=line, lower=True)"
    assert f"words = {function}(input_text=line, lower=True)\n" in migrate(with_model(lines)).after


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", [3, 2])
def test_images_of_small_numbers_are_darkened(keras: int, python: forks.Python) -> None:
    """What TFM286 says: the largest number of an image from 0 to 0.9, and of one from 0 to 90, at a brightness of 1."""
    assert python(keras, BRIGHT).stdout.split()[-2:] == ["0.0", "90.0"]


BRIGHT = """
import numpy as np
import tensorflow as tf

generator = tf.keras.preprocessing.image.ImageDataGenerator(brightness_range=(1.0, 1.0))
image = np.linspace(0, 0.9, 48).reshape(4, 4, 3)
print(generator.random_transform(image).max(), generator.random_transform(image * 100).max())
"""
