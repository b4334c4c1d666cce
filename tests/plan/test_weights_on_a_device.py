"""A model that is built in a `with tf.device(...)` and run outside it (TFM298)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

import pytest

from tests.kit import actions, check_migrated
from tfmigrate.verify.run.runtimes import KERAS_2, Runtime

PROGRAM = """\
import tensorflow as tf
from keras.layers import Dense
from keras.models import Sequential, load_model
from keras.utils import multi_gpu_model


def build():
    return Sequential([Dense(1, input_shape=(4,))])


def train(x, y):
    template = build()
    parallel = multi_gpu_model(template, gpus=2)
    parallel.compile("sgd", "mse")
    parallel.train_on_batch(x, y)


def apply(x):
    {code}


train(x, y)
apply(x)
"""


def program(code: str) -> str:
    return PROGRAM.replace("{code}", code.replace("\n", "\n    "))


@pytest.mark.parametrize(
    ("code", "after"),
    [
        (
            "with tf.device('/cpu:0'):\n    model = build()\nreturn model.predict(x)",
            "    model = build()\n    return model.predict(x)\n",
        ),
        (
            "with tf.device('/cpu:0'):\n    model = load_model('a.h5')\nreturn model.evaluate(x, x)",
            "    model = load_model('a.h5')\n    return model.evaluate(x, x)\n",
        ),
        (
            "where = '/CPU:0'\nwith tf.device(where):\n    model = Sequential()\n"
            "    model.add(Dense(1, input_shape=(4,)))\n    model.compile('sgd', 'mse')\nmodel.train_on_batch(x, x)",
            "    model.compile('sgd', 'mse')\n    model.train_on_batch(x, x)\n",
        ),
    ],
)
def test_a_block_for_the_cpu_goes(code: str, after: str) -> None:
    file = check_migrated(program(code))
    assert actions(file, "TFM298") == ["rewrite"]
    assert after in file.after
    assert "tf.device" not in file.after


@pytest.mark.parametrize(
    "code",
    [
        "with tf.device('/gpu:1'):\n    model = build()\nreturn model.predict(x)",
        "with tf.device('/cpu:0'):\n    model = build()\n    noise = tf.random.normal((4, 4))\nreturn model.predict(x)",
    ],
)
def test_another_block_is_reported(code: str) -> None:
    file = check_migrated(program(code))
    assert actions(file, "TFM298") == ["warn"]
    assert "with tf.device(" in file.after


@pytest.mark.parametrize(
    "code",
    [
        "with tf.device('/cpu:0'):\n    model = build()\n    return model.predict(x)",
        "with tf.device('/cpu:0'):\n    return build().predict(x)",
        "with tf.device('/gpu:0'):\n    model = build()\nreturn model.predict(x)",
        "with tf.device(x.device):\n    model = build()\nreturn model.predict(x)",
        "with tf.device('/cpu:0'):\n    model = build()\nmodel.save_weights('a.weights.h5')\nreturn model(x)",
        "with tf.device('/cpu:0'):\n    rows = tf.constant(x)\nreturn build().predict(rows)",
    ],
)
def test_what_runs_where_its_weights_are_stays(code: str) -> None:
    file = check_migrated(program(code))
    assert actions(file, "TFM298") == []
    assert program(code).partition("def apply(x):")[2] in file.after


def test_the_block_of_a_template_goes_with_its_wrap() -> None:
    text = program("pass").replace(
        "    template = build()", "    with tf.device('/cpu:0'):\n        template = build()"
    )
    file = check_migrated(text)
    assert actions(file, "TFM298") == []
    assert "tf.device" not in file.after


def test_a_block_in_what_builds_a_model_for_a_strategy_is_no_matter() -> None:
    block = "with tf.device('/cpu:0'):\n        x = Input((4,))\n        return Model(x, Dense(1)(x))\n"
    text = program("pass").replace("Sequential, load_model", "Model").replace("import Dense", "import Dense, Input")
    head, rest = text.split("def build():\n")
    file = check_migrated(f"{head}def build():\n    {block}" + rest.partition("\n")[2])
    assert actions(file, "TFM298") == []


def test_a_wrap_that_nothing_uses_leaves_a_model_on_one_gpu() -> None:
    file = check_migrated(
        "import tensorflow as tf\n"
        "from keras.layers import Dense\n"
        "from keras.models import Sequential\n"
        "from keras.utils import multi_gpu_model\n\n"
        "with tf.device('/cpu:0'):\n    model = Sequential([Dense(1, input_shape=(4,))])\n"
        "parallel = multi_gpu_model(model, gpus=2)\nmodel.compile('sgd', 'mse')\nmodel.train_on_batch(x, y)\n"
    )
    assert actions(file, "TFM298") == ["rewrite"]
    assert "\nmodel = Sequential([Dense(1, input_shape=(4,))])\nmodel.compile(" in file.after


FACT = """
import os
import numpy as np
import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
keras = tf.keras
where = "/cpu:1" if os.environ["OUTSIDE"] else "/cpu:0"
with tf.device(where):
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse", jit_compile=True)
for run in (model.predict, lambda x, **more: model.fit(x, x[:, :1], **more)):
    try:
        run(np.ones((4, 4)), verbose=0)
        print("runs")
    except tf.errors.InvalidArgumentError as error:
        print("Trying to access resource" in str(error))
"""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", [3, 2])
def test_xla_finds_no_weights_on_another_device(keras: int, runtime_for: Callable[[str], Runtime]) -> None:
    """As on a GPU, where Keras 3 compiles by itself; here a second logical CPU stands for the other device."""
    python = runtime_for(f"keras {keras}").python
    for outside, told in (("yes", ["True", "True"]), ("", ["runs", "runs"])):
        settings = {**os.environ, "OUTSIDE": outside, KERAS_2: "1" if keras == 2 else "0", "CUDA_VISIBLE_DEVICES": "-1"}
        done = subprocess.run([python, "-c", FACT], env=settings, capture_output=True, text=True, check=False)
        assert done.stdout.split() == told, done.stderr[-2000:]
