"""TFM258: the shape that a copy of an application takes."""

from __future__ import annotations

import itertools

import pytest

from tests.kit import actions, check_migrated, with_model
from tfmigrate.plan.helpers.obtain_input_shape import obtain_input_shape

PROGRAM = with_model("{imports}\n\nshape = {call}")


@pytest.mark.parametrize(
    ("imports", "name"),
    [
        ("from keras.applications.imagenet_utils import _obtain_input_shape", "_obtain_input_shape"),
        ("from keras_applications.imagenet_utils import _obtain_input_shape", "_obtain_input_shape"),
        ("from keras.applications import imagenet_utils", "imagenet_utils._obtain_input_shape"),
    ],
)
def test_the_function_is_brought_along(imports: str, name: str) -> None:
    file = check_migrated(PROGRAM.format(imports=imports, call=f"{name}(None, 224, 32, 'channels_last', True)"))
    assert "shape = obtain_input_shape(None, 224, 32, 'channels_last', True)\n" in file.after
    assert "def obtain_input_shape(" in file.after
    assert "_obtain_input_shape" not in file.after
    assert "TFM501" not in {finding.code for finding in file.findings}


def test_the_keyword_of_keras_2_0_is_left() -> None:
    imports = "from keras.applications.imagenet_utils import _obtain_input_shape"
    call = "_obtain_input_shape(None, default_size=224, min_size=32, data_format=form, include_top=True)"
    file = check_migrated(PROGRAM.format(imports=imports, call=call))
    assert actions(file, "TFM258") == []
    assert call in file.after


@pytest.mark.filterwarnings("ignore:This model usually expects")
def test_the_shapes_are_those_of_keras() -> None:
    imagenet_utils = pytest.importorskip("keras.src.applications.imagenet_utils")
    shapes = (None, (64, 64, 3), (16, 64, 3), (64, 64, 1), (3, 64, 64), (None, None, 3), (64, 64), (224, 224, 3))
    choices = itertools.product(shapes, ("channels_last", "channels_first"), (True, False), (None, "imagenet", "x"))
    for shape, form, flat, weights in choices:
        found = []
        for function in (obtain_input_shape, imagenet_utils.obtain_input_shape):
            try:
                found.append(function(shape, 224, 32, form, flat, weights=weights))
            except ValueError:
                found.append(ValueError)
        assert found[0] == found[1], (shape, form, flat, weights)
