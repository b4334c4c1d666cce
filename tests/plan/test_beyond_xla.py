"""Operations that XLA cannot compile, where a model may train without a strategy (TFM299)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

import pytest

from tests.kit import actions, check_migrated
from tfmigrate.plan.keras.beyond_xla import _BEYOND
from tfmigrate.verify.run.runtimes import Runtime

PROGRAM = """\
import tensorflow as tf
from functools import partial
from keras import backend as K
from keras.layers import Dense, Input, Lambda, Layer
from keras.models import Model
from keras.utils import multi_gpu_model

{code}

def train(x, y, gpus):
    inputs = Input((4,))
    model = Model(inputs, {layer}(Dense(1)(inputs)))
    {wrap}
    parallel.compile("sgd", "mse", metrics={metrics})
    parallel.train_on_batch(x, y)
"""
ALWAYS = "parallel = multi_gpu_model(model, gpus=2)"
PERHAPS = "parallel = multi_gpu_model(model, gpus=gpus) if gpus > 1 else model"
ERROR = "def error(y_true, y_pred):\n    return tf.py_func(abs, [y_true - y_pred], tf.float32)\n"


def program(code: str = "", layer: str = "", metrics: str = "[]", wrap: str = PERHAPS) -> str:
    return PROGRAM.format(code=code, layer=layer, metrics=metrics, wrap=wrap)


@pytest.mark.parametrize(
    ("code", "layer", "metrics"),
    [
        (ERROR, "", "[error]"),
        (ERROR, "", "{'dense': error}"),
        (ERROR + "\ndef of(error):\n    return lambda a, b: K.mean(error(a, b))\n", "", "[of(error)]"),
        (ERROR + "\ndef scaled(scale, a, b):\n    return scale * error(a, b)\n", "", "[partial(scaled, 2.0)]"),
        ("", "Lambda(lambda t: K.ctc_decode(t, [1])[0][0])", "[]"),
        ("def shown(t):\n    return tf.Print(t, [t])\n", "Lambda(function=shown)", "[]"),
        (
            "class Cropped(Layer):\n    def call(self, t):\n        return self.crop(t)\n\n"
            "    def crop(self, t):\n        return tf.image.crop_and_resize(t, [[0, 0, 1, 1]], [0], (2, 2))\n",
            "Cropped()",
            "[]",
        ),
    ],
)
def test_a_model_that_may_train_on_one_gpu_is_not_compiled(code: str, layer: str, metrics: str) -> None:
    file = check_migrated(program(code, layer, metrics))
    assert actions(file, "TFM299") == ["rewrite"]
    assert file.after.count("jit_compile=False)") == 1


@pytest.mark.parametrize(
    "text",
    [
        program(ERROR, metrics="[error]", wrap=ALWAYS),
        program(ERROR, metrics="['mae']"),  # nothing that a step runs
        program("def error(y_true, y_pred):\n    return K.mean(abs(y_true - y_pred))\n", metrics="[error]"),
        program(ERROR, metrics="[error]").replace("metrics=[error])", "metrics=[error], jit_compile=True)"),
        program(ERROR, metrics="[error], **{}"),
    ],
)
def test_nothing_is_written_elsewhere(text: str) -> None:
    file = check_migrated(text)
    assert actions(file, "TFM299") == []
    assert "jit_compile=False" not in file.after


TWO = """\
import tensorflow as tf
from keras.layers import Dense, Input, Lambda, Layer
from keras.models import Model
from keras.utils import multi_gpu_model


def error(y_true, y_pred):
    return tf.py_func(abs, [y_true - y_pred], tf.float32)


class Shown(Layer):
    def call(self, t):
        return tf.Print(t, [t])


def train(x, y, gpus):
    inputs = Input((4,))
    plain = Model(inputs, Dense(1)(inputs))
    other = Model(inputs, {layer}(Dense(1)(inputs)))
    parallel = multi_gpu_model(plain, gpus=gpus) if gpus > 1 else plain
    parallel.compile("sgd", "mse"{plain})
    parallel.train_on_batch(x, y)
    other.compile("sgd", "mse"{other})
    other.train_on_batch(x, y)
"""


@pytest.mark.parametrize(
    ("layer", "plain", "other", "told"),
    [
        ("Shown()", "", "", "other"),
        ("Lambda(lambda t: tf.Print(t, [t]))", "", "", "other"),
        ("", "", ", metrics=[error]", "other"),
        ("", ", metrics=[error]", "", "model"),
        ("[Shown][0]()", "", "", "both"),  # a class that is passed about may be anywhere
    ],
)
def test_a_model_that_does_not_run_the_operation_is_compiled(layer: str, plain: str, other: str, told: str) -> None:
    file = check_migrated(TWO.format(layer=layer, plain=plain, other=other))
    changed = [line.strip().partition(".")[0] for line in file.after.splitlines() if "jit_compile=False" in line]
    assert changed == {"both": ["plain", "other"], "model": ["plain"]}.get(told, [told])


def test_an_operation_in_another_module_is_named_with_it() -> None:
    text = program("from losses import error", metrics="[error]")
    file = check_migrated(text, losses="import tensorflow as tf\n\n\n" + ERROR)
    (finding,) = (finding for finding in file.findings if finding.code == "TFM299")
    assert "`tf.py_func` (line 5 of losses.py)" in finding.message


OPERATIONS = {
    "tensorflow.py_function": "tf.py_function(abs, [x], tf.float32)",
    "tensorflow.numpy_function": "tf.numpy_function(abs, [x], tf.float32)",
    "tensorflow.py_func": "tf.compat.v1.py_func(abs, [x], tf.float32)",
    "tensorflow.Print": "tf.compat.v1.Print(x, [x])",
    "tensorflow.print": "[tf.print(x), x][1]",
    "keras.backend.ctc_batch_cost": "K.ctc_batch_cost(tf.ones((4, 2)), soft(x), five[:, None], tf.ones((4, 1)))",
    "keras.backend.ctc_decode": "K.ctc_decode(soft(x), tf.fill((4,), 5))[0][0]",
    "tensorflow.nn.ctc_loss": "tf.compat.v1.nn.ctc_loss(labels, wide(x), five)",
    "tensorflow.nn.ctc_beam_search_decoder": "tf.nn.ctc_beam_search_decoder(wide(x), five)[1]",
    "tensorflow.nn.ctc_greedy_decoder": "tf.nn.ctc_greedy_decoder(wide(x), five)[1]",
    "tensorflow.edit_distance": "tf.edit_distance(sparse(x), sparse(x))",
    "tensorflow.nn.max_pool_with_argmax": "tf.nn.max_pool_with_argmax(image(x), 2, 2, 'SAME')[0]",
    "tensorflow.nn.dilation2d": "tf.nn.dilation2d(image(x), tf.ones((2, 2, 1)), [1] * 4, 'SAME', 'NHWC', [1] * 4)",
    "tensorflow.histogram_fixed_width": "tf.histogram_fixed_width(x, [0.0, 1.0])",
    "tensorflow.image.crop_and_resize": "tf.image.crop_and_resize(image(x), tf.ones((4, 4)), tf.range(4), (2, 2))",
    "tensorflow.image.resize_bicubic": "tf.image.resize(image(x), (4, 4), 'bicubic')",
    "tensorflow.image.resize_area": "tf.image.resize(image(x), (4, 4), 'area')",
    "tensorflow.image.combined_non_max_suppression": (
        "tf.image.combined_non_max_suppression(tf.reshape(x, (4, 1, 1, 4)), x[:, :1, None], 1, 1)[0]"
    ),
    "tensorflow.image.draw_bounding_boxes": (
        "tf.image.draw_bounding_boxes(image(x), tf.ones((4, 1, 4)), tf.ones((1, 1)))"
    ),
    "tensorflow.image.extract_glimpse": "tf.image.extract_glimpse(image(x), (1, 1), tf.ones((4, 2)))",
    "tensorflow.linalg.det": "tf.linalg.det(x)",
    "tensorflow.matrix_determinant": "tf.compat.v1.matrix_determinant(x)",
    "tensorflow.linalg.sqrtm": "tf.linalg.sqrtm(x)",
    "tensorflow.sparse.matmul": "tf.sparse.sparse_dense_matmul(tf.sparse.from_dense(x), x)",
    "tensorflow.sparse.sparse_dense_matmul": "tf.sparse.sparse_dense_matmul(tf.sparse.from_dense(x), x)",
    "tensorflow.sparse_tensor_dense_matmul": "tf.compat.v1.sparse_tensor_dense_matmul(tf.sparse.from_dense(x), x)",
}
"""Each with a call of it in today's TensorFlow; the first two are in none of those that multi_gpu_model was in."""
FACT = """
import sys
import tensorflow as tf

K, five = tf.keras.backend, tf.fill((4,), 5)
labels = tf.sparse.from_dense(tf.ones((4, 2), tf.int32))
soft = lambda x: tf.nn.softmax(tf.tile(x[:, None, :], [1, 5, 1]))
wide = lambda x: tf.tile(x[None], [5, 1, 1])
image = lambda x: tf.reshape(x, (4, 2, 2, 1))
sparse = lambda x: tf.sparse.from_dense(tf.cast(x, tf.int64))
for code in sys.argv[1:]:
    operation = eval("lambda x: " + code)
    operation(tf.random.uniform((4, 4)))
    try:
        tf.function(operation, jit_compile=True)(tf.random.uniform((4, 4)))
        print("compiled:", code)
    except tf.errors.InvalidArgumentError as error:
        if "unsupported operations" not in str(error):
            print(code, error)
"""


def test_every_operation_is_tried() -> None:
    missing = {"keras.backend.print_tensor", "tensorflow.contrib.eager.py_func"}  # no longer in TensorFlow
    assert _BEYOND - OPERATIONS.keys() == missing
    assert OPERATIONS.keys() <= _BEYOND


@pytest.mark.runs_tensorflow
def test_xla_compiles_none_of_them(runtime_for: Callable[[str], Runtime]) -> None:
    command = [str(runtime_for("keras 3").python), "-c", FACT, *OPERATIONS.values()]
    settings = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr[-2000:]
