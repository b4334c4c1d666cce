"""Features without a known rank are refused, for Keras asks for it; what sets it is seen."""

from __future__ import annotations

import pytest

from tests.plan.test_estimator import migrated, refusal

SLICES = "    return tf.data.Dataset.from_tensor_slices(([[1.0], [2.0]], [[0.5], [1.0]])).batch(8)\n"


def parsed(lines: str) -> tuple[str, str]:
    head = "    def parse(name, label):\n" + "".join(f"        {line}\n" for line in lines.split("; "))
    return SLICES, head + "\n    return tf.data.Dataset.from_tensor_slices((names, rows)).map(parse).batch(8)\n"


@pytest.mark.parametrize(
    "lines",
    [
        "return tf1.py_func(load, [name], tf.float32), label",
        "image = tf.numpy_function(load, [name], tf.float32); return image, label",
        "image, label = tf.py_function(load, [name], [tf.float32, tf.int32]); return image, label",
        "image = tf.image.decode_image(name); return {'image': image}, label",
    ],
)
def test_features_without_a_rank_are_refused(lines: str) -> None:
    assert refusal(parsed(lines)).startswith("TFM116 this Estimator stays: the rank of these features is unknown")


@pytest.mark.parametrize(
    "lines",
    [
        "image = tf.numpy_function(load, [name], tf.float32); image.set_shape([4]); return image, label",
        "image = tf.numpy_function(load, [name], tf.float32); image = tf.reshape(image, [4]); return image, label",
        "label = tf.numpy_function(load, [label], tf.float32); return name, label",
        "image = tf.image.decode_jpeg(name); return image, label",
    ],
)
def test_features_with_one_are_not(lines: str) -> None:
    assert migrated(parsed(lines)).after.count("tf.keras.Input(") == 1


@pytest.mark.parametrize(
    ("made", "refused"),
    [
        ("from_generator(rows, (tf.float32, tf.float32)).batch(8)", True),
        ("from_generator(rows, (tf.float32, tf.float32), ([4], [1])).batch(8)", False),
        ("from_generator(rows, output_types=types, output_shapes=shapes).batch(8)", False),
        ("from_generator(rows, (tf.float32, tf.float32)).map(shape).batch(8)", False),
    ],
)
def test_a_generator_that_says_no_shapes(made: str, refused: bool) -> None:
    change = SLICES, f"    return tf.data.Dataset.{made}\n"
    if refused:
        assert "the rank of these features" in refusal(change)
    else:
        assert "tf.keras.Input(" in migrated(change).after
