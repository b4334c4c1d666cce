"""Calls that turn eager execution off, which Keras 3 needs."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, migrate

PROGRAM = """\
{head}
from tensorflow.keras import backend as K
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model

{call}
{code}
model = Sequential([Dense(1, input_shape=(4,))])
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
"""
HEAD = "import tensorflow as tf"
SESSION = "config = tf.compat.v1.ConfigProto()\nsession = tf.compat.v1.Session(config=config)\n"
DETECTOR = """\
class Detector:
    def __init__(self):
        self.session = K.get_session()
        self.rows = K.placeholder(shape=(None,))
        self.twice = self.rows * 2

    def of(self, rows):
        return self.session.run(self.twice, feed_dict={self.rows: rows})
"""


@pytest.mark.parametrize(
    ("head", "call"),
    [
        (HEAD, "tf.compat.v1.disable_eager_execution()"),
        (HEAD, "tf.compat.v1.disable_v2_behavior()"),
        ("import tensorflow.compat.v1 as tf", "tf.disable_v2_behavior()"),
        (f"{HEAD}\nfrom tensorflow.python.framework.ops import disable_eager_execution", "disable_eager_execution()"),
    ],
)
@pytest.mark.parametrize("code", ["", SESSION + "K.set_session(session)", DETECTOR])
def test_the_call_goes_where_nothing_needs_a_graph(head: str, call: str, code: str) -> None:
    file = check_migrated(PROGRAM.format(head=head, call=call, code=code))
    assert "disable_" not in file.after.split("Sequential", 1)[1]
    assert actions(file, "TFM274") == ["rewrite"]


@pytest.mark.parametrize(
    "code",
    [
        "x = tf.compat.v1.placeholder(tf.float32)",
        SESSION + "K.set_session(session)\nsession.run(tf.constant(1))",
        "saver = tf.compat.v1.train.Saver()",
        DETECTOR + "\n    def more(self):\n        return self.session.graph\n",
    ],
)
def test_where_something_does_it_is_reported(code: str) -> None:
    file = check_migrated(PROGRAM.format(head=HEAD, call="tf.compat.v1.disable_eager_execution()", code=code))
    assert "tf.compat.v1.disable_eager_execution()" in file.after
    assert actions(file, "TFM274") == ["warn"]


def test_a_condition_goes_with_it() -> None:
    call = "if tf.__version__ >= '2':\n    tf.compat.v1.disable_v2_behavior()"
    file = check_migrated(PROGRAM.format(head=HEAD, call=call, code=""))
    assert "__version__" not in file.after


def test_a_program_without_multi_gpu_model_is_left_alone() -> None:
    text = PROGRAM.format(head=HEAD, call="tf.compat.v1.disable_eager_execution()", code="")
    text = text.replace("from tensorflow.keras.utils import multi_gpu_model\n", "")
    assert migrate(text.replace("multi_gpu_model(model, gpus=2)", "model")).after.count("disable_eager") == 1


@pytest.mark.parametrize("call", ["tf.compat.v1.enable_eager_execution()", "tf.config.run_functions_eagerly(True)"])
def test_other_settings_stay(call: str) -> None:
    file = check_migrated(PROGRAM.format(head=HEAD, call=call, code=""))
    assert call in file.after
    assert actions(file, "TFM274") == []
