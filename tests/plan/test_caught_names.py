"""A `try` around a whole program does not hide names that TensorFlow no longer has."""

from __future__ import annotations

import pytest

from tests.kit import actions, migrate

HEAD = """import numpy as np
import keras.backend as K
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model
from data import batches, x, name

"""
PROGRAM = """    model = Sequential([Dense(4, input_shape=(3,))])
    parallel = multi_gpu_model(model, gpus=2)
    parallel.compile('sgd', 'mae')
    step = K.function([x], [x])
    count = np.int(3)
    parallel.fit_generator(batches, epochs=count)
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("try:\n", "except Exception as error:\n    print(error)\n"),
        ("try:\n", "except (Exception, ArithmeticError) as error:\n    print(error)\n"),
        ("try:\n", "except:\n    print('stopped')\n"),
        ("try:\n", "except KeyboardInterrupt:\n    print('stopped')\n"),
        ("if name == 'mobilenet_v2':\n", ""),
        ("if name in ('resnet_v1', 'legacy'):\n", ""),
    ],
)
def test_what_goes_round_a_program_hides_nothing(before: str, after: str) -> None:
    file = migrate(f"{HEAD}{before}{PROGRAM}{after}")
    assert actions(file, "TFM501") == ["warn"]
    assert "count = int(3)" in file.after


@pytest.mark.parametrize(
    "attempt",
    [
        "try:\n    step = K.function([x], [x])\nexcept Exception:\n    step = None\n",
        "try:\n    made = 1\n    step = K.function([x], [x])\nexcept:\n    step = None\n",
        "try:\n    made = 1\n    more = 2\n    step = K.function([x], [x])\nexcept AttributeError:\n    step = None\n",
        "try:\n    made = 1\n    more = 2\n    step = K.function([x], [x])\nexcept:\n    from own import step\n",
        "try:\n    import yaml\n    from keras.backend import function\nexcept:\n    function = None\n",
        "if tf_version == '1.x':\n    step = K.function([x], [x])\n",
        "if hasattr(K, 'function'):\n    step = K.function([x], [x])\n",
    ],
)
def test_an_attempt_that_may_fail_is_left_alone(attempt: str) -> None:
    rest = PROGRAM.replace("    step = K.function([x], [x])\n", "").replace("\n    ", "\n").lstrip()
    assert actions(migrate(f"{HEAD}{attempt}{rest}"), "TFM501") == []
