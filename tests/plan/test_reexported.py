"""Names of TensorFlow that reach a file through a module of the program, which has them by a star import."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, migrate

COMPAT = "from {source} import *\n\n\ndef constant(value):\n    return value\n"
TRAIN = """
import compat as tf
from tensorflow.keras.utils import multi_gpu_model

model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile(tf.keras.optimizers.Adam(lr=0.1), "mse")
parallel_model.train_on_batch(x, y)
print(tf.constant(1))
"""


@pytest.mark.parametrize("source", ["tensorflow", "tensorflow.compat.v1", "tensorflow.compat.v2"])
def test_they_are_known(source: str) -> None:
    file = check_migrated(TRAIN, compat=COMPAT.format(source=source))
    assert "tf.keras.optimizers.Adam(learning_rate=0.1)" in file.after
    assert "the model built at line 5" in " ".join(finding.message for finding in file.findings)


@pytest.mark.parametrize("source", ["other", "tensorflow.keras.layers", "tensorflow import *\nfrom other"])
def test_those_that_may_be_another_librarys_are_not(source: str) -> None:
    file = migrate(TRAIN, compat=COMPAT.format(source=source))
    assert "Adam(lr=0.1)" in file.after


def test_graph_mode_stays_where_another_file_has_a_session() -> None:
    compat = "from tensorflow.compat.v1 import *\nfrom tensorflow.python.compat import v2_compat\n\n"
    call = "v2_compat.disable_v2_behavior()\n"
    other = "import train as tf\n\n\ndef run(a):\n    with tf.Session() as session:\n        return session.run(a)\n"
    main = TRAIN.replace("import compat", "from other import run\nimport train")
    file = migrate(compat + call, other=other, main=main)
    assert actions(file, "TFM274") == ["warn"]
    assert call in file.after
