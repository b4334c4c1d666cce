"""TFM248: names of get_custom_objects() in strings, which Keras 3 does not look up."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated

PROGRAM = """
import keras
from keras.layers import Activation, Dense
from keras.models import Sequential
from keras.utils import get_custom_objects, multi_gpu_model
from keras.utils.generic_utils import CustomObjectScope

{register}
model = Sequential([Dense(1, input_shape=(4,){layer})])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile("sgd", {compiled})
"""
OBJECT = 'tf.keras.utils.get_custom_objects()["own"]'


def program(register: str = "", layer: str = "", compiled: str = "'mse'") -> str:
    return PROGRAM.format(register=register, layer=layer, compiled=compiled)


@pytest.mark.parametrize(
    "register",
    [
        'get_custom_objects().update({"own": own})',
        "get_custom_objects().update(own=own)",
        'get_custom_objects()["own"] = own',
        'keras.utils.get_custom_objects().update({"other": 1, "own": own})',
        'with CustomObjectScope({"own": own}):\n    loaded = keras.models.load_model("f.h5")',
    ],
)
def test_forms_of_registering(register: str) -> None:
    after = check_migrated(program(register, compiled='"own"')).after
    assert f'"sgd", {OBJECT}' in after


@pytest.mark.parametrize("layer", ['activation="own"', 'kernel_regularizer="own"', 'bias_constraint="own"'])
def test_arguments_of_layers(layer: str) -> None:
    after = check_migrated(program('get_custom_objects()["own"] = own', layer=f", {layer}")).after
    assert layer.replace('"own"', OBJECT) in after


@pytest.mark.parametrize(
    ("compiled", "after"),
    [
        ('loss="mse", metrics=["mae", "own"]', f'metrics=["mae", {OBJECT}]'),
        ('loss={"own": "own"}', f'loss={{"own": {OBJECT}}}'),
    ],
)
def test_parts_of_arguments(compiled: str, after: str) -> None:
    assert after in check_migrated(program('get_custom_objects()["own"] = own', compiled=compiled)).after


def test_a_list_by_a_name_of_its_own() -> None:
    register = 'get_custom_objects()["own"] = own\nwatched = ["own"]'
    after = check_migrated(program(register, compiled='"mse", metrics=watched')).after
    assert f"watched = [{OBJECT}]" in after


def test_another_module_may_register() -> None:
    other = 'from keras.utils import get_custom_objects\n\nget_custom_objects()["own"] = print\n'
    assert OBJECT in check_migrated(program("import other", compiled='"own"'), other=other).after


@pytest.mark.parametrize("register", ["", "own = {}\nown.update({'own': 1})", 'get_custom_objects()["else"] = own'])
def test_other_names_stay(register: str) -> None:
    assert not actions(check_migrated(program(register, compiled='"own"')), "TFM248")
