"""`tf.set_random_seed()` alone does not seed the weights of today's Keras."""

from __future__ import annotations

import pytest

from tests import forks
from tests.kit import actions, check_migrated, migrate

HEAD = """\
import argparse
import numpy as np
import tensorflow as tf
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model
"""
TAIL = """
parallel = multi_gpu_model(Sequential([Dense(2, input_shape=(2,))]), gpus=2)
parallel.compile("sgd", "mse")
"""
PRINTED = """\
import random
import tensorflow as tf
{seeding}
print(tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(2,))]).get_weights()[0].tolist())
"""


@pytest.mark.parametrize(
    ("code", "after"),
    [
        ("tf.set_random_seed(1)", "random.seed(1)\ntf.random.set_seed(1)\n"),
        ("# as in the paper\ntf.random.set_seed(1)", "# as in the paper\nrandom.seed(1)\ntf.random.set_seed(1)\n"),
        ("SEED = 3\nnp.random.seed(SEED)\ntf.random.set_seed(SEED)", "random.seed(SEED)\ntf.random.set_seed(SEED)\n"),
    ],
)
def test_pythons_generator_gets_the_same_seed(code: str, after: str) -> None:
    file = check_migrated(HEAD + code + TAIL)
    assert after in file.after
    assert "import argparse\nimport random\nimport numpy" in file.after
    assert actions(file, "TFM282") == ["rewrite"]


def test_its_own_name_is_used() -> None:
    file = check_migrated("import random as chance\n" + HEAD + "tf.set_random_seed(1)" + TAIL)
    assert "chance.seed(1)\n" in file.after
    assert file.after.count("import random") == 1


@pytest.mark.parametrize(
    "code",
    [
        "from numpy import random\ntf.set_random_seed(1)",
        "tf.set_random_seed(np.random.randint(9))",
        "done = tf.set_random_seed(1)",
    ],
)
def test_where_that_cannot_be_written_it_is_said(code: str) -> None:
    assert actions(migrate(HEAD + code + TAIL), "TFM282") == ["warn"]


@pytest.mark.parametrize(
    "code",
    [
        "import random\nrandom.seed(1)\ntf.set_random_seed(1)",
        "tf.keras.utils.set_random_seed(1)\ntf.random.set_seed(1)",
        "np.random.seed(1)",
        "tf.random.set_seed",
    ],
)
def test_nothing_is_said_of(code: str) -> None:
    assert actions(migrate(HEAD + code + TAIL), "TFM282") == []


@pytest.mark.parametrize(
    "code",
    [
        "tf.set_random_seed(1)  # tfmigrate: skip\ntf.set_random_seed(2)",
        "if tf.__version__ < '2':\n    tf.set_random_seed(2)\nelse:\n    tf.random.set_seed(2)",
    ],
)
def test_the_import_comes_with_whichever_is_written(code: str) -> None:
    file = check_migrated(HEAD + code + TAIL)
    assert file.after.count("import random\n") == file.after.count("random.seed(2)\n") == 1


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", [3, 2])
def test_the_weights_are_the_same_in_every_run(keras: int, python: forks.Python) -> None:
    for seeding, expected in (("random.seed(1)", 1), ("tf.random.set_seed(1)", 2)):
        assert len({python(keras, PRINTED.format(seeding=seeding)).stdout for _ in range(2)}) == expected


@pytest.mark.parametrize(
    ("above", "written"),
    [
        ("import os\n\n", "import random\nimport os\n\nimport "),
        ("import os\n", "import os\nimport random\n"),
        ("import os\nimport re\n\n", "import os\nimport random\nimport re\n\nimport "),
        ("import os\n\nimport sys\n\n", "import os\n\nimport random\nimport sys\n\nimport "),
        ("from __future__ import print_function\n\n", "from __future__ import print_function\n\nimport random\n"),
        ("import yaml\n\n", "import random\nimport yaml\n"),
    ],
)
def test_the_import_stands_among_those_of_the_standard_library(above: str, written: str) -> None:
    program = (HEAD + "tf.set_random_seed(1)" + TAIL).replace("import argparse\n", "")
    assert written in check_migrated(above + program).after
