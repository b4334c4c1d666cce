from __future__ import annotations

import pytest

from tfmigrate.understand import names


@pytest.mark.parametrize(
    "name",
    [
        "keras.utils.multi_gpu_model",
        "keras.utils.training_utils.multi_gpu_model",
        "keras.utils.multi_gpu_utils.multi_gpu_model",
        "tensorflow.keras.utils.multi_gpu_model",
        "tensorflow.python.keras.utils.multi_gpu_model",
        "tensorflow.python.keras.utils.multi_gpu_utils.multi_gpu_model",
        "tensorflow.contrib.keras.api.keras.utils.multi_gpu_model",
        "tensorflow.compat.v1.keras.utils.multi_gpu_model",
        "tensorflow._api.v1.keras.utils.multi_gpu_model",
    ],
)
def test_every_home_of_the_function_is_one_name(name: str) -> None:
    assert names.canonical(name) == names.MULTI_GPU_MODEL


@pytest.mark.parametrize("name", ["keras_contrib.utils.multi_gpu_model", "utils.multi_gpu_model", "tensorflow.keras_x"])
def test_other_names_stay_what_they_are(name: str) -> None:
    assert names.canonical(name) == name


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("keras.layers.recurrent.GRU", "keras.layers.GRU"),
        ("tensorflow.python.keras.layers.core.Dense", "keras.layers.Dense"),
        ("keras.layers.merge.concatenate", "keras.layers.concatenate"),
        ("tf_keras.layers.experimental.preprocessing.Resizing", "keras.layers.experimental.preprocessing.Resizing"),
        ("keras.utils.np_utils.to_categorical", "keras.utils.to_categorical"),
        ("keras.layers.merge", "keras.layers.merge"),
        ("keras.applications.resnet50.ResNet50", "keras.applications.resnet50.ResNet50"),
    ],
)
def test_what_a_module_of_keras_defines_is_what_its_package_exports(name: str, known: str) -> None:
    assert names.canonical(name) == known


@pytest.mark.parametrize(
    ("name", "flavour"),
    [("keras.layers.Dense", "keras"), ("tensorflow.keras.layers.Dense", "tf.keras"), ("numpy.array", "")],
)
def test_flavour(name: str, flavour: str) -> None:
    assert names.flavour(name) == flavour


def test_kinds() -> None:
    assert names.is_layer("keras.layers.convolutional.Conv2D")
    assert not names.is_layer("keras.layers.add")
    assert names.is_optimizer("tensorflow.keras.optimizers.Adam")
    assert names.is_optimizer("keras.optimizers.rmsprop")
    assert not names.is_optimizer("keras.optimizers.schedules.ExponentialDecay")
    assert names.is_pretrained("keras.applications.resnet50.ResNet50")
    assert not names.is_pretrained("keras.applications.resnet50.preprocess_input")


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("tensorflow.estimator.RunConfig", "RunConfig"),
        ("tensorflow.python.estimator.run_config.RunConfig", "RunConfig"),
        ("tensorflow_estimator.python.estimator.estimator.Estimator", "Estimator"),
        ("tensorflow.estimator.inputs.numpy_input_fn", "inputs.numpy_input_fn"),
        ("tensorflow.python.training.adam.AdamOptimizer", None),
    ],
)
def test_parts_of_the_estimator_by_every_door(name: str, part: str | None) -> None:
    assert names.estimator_name(name) == part
