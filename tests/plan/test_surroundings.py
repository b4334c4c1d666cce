"""What stands round a wrap and would stop the new program, or train something else: mended, reported or refused."""

from __future__ import annotations

import pytest

from tests.kit import migrate

HEAD = """from keras import backend as K
from keras.layers import Dense, Input, Lambda
from keras.models import Model
from keras.utils import multi_gpu_model
import importlib
import os
"""
MODEL = "inputs = Input((8,))\nmodel = Model(inputs, {outputs})\n"
TRAIN = """parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
"""
ONE = MODEL.format(outputs="Dense(1)(inputs)")
TWO = MODEL.format(outputs="[Dense(1, name='a')(inputs), Dense(1, name='b')(inputs)]")


def found(text: str) -> tuple[str, set[tuple[str, str]]]:
    file = migrate(HEAD + text)
    return file.after, {(finding.code, finding.action) for finding in file.findings}


@pytest.mark.parametrize(
    ("model", "weights", "told"),
    [
        (TWO, "{'a': {0: 1.0}}", True),
        (TWO, "None", False),
        (ONE, "{0: 1.0}", False),
    ],
)
def test_class_weights_of_several_outputs_are_reported(model: str, weights: str, told: bool) -> None:
    _, codes = found(f"{model}{TRAIN}parallel.fit_generator(rows, class_weight={weights})\n")
    assert (("TFM219", "warn") in codes) == told


def test_a_list_of_class_weights_did_nothing_for_one_output() -> None:
    weights = "weights = []\nfor name in ('a', 'b'):\n    weights.append({0: 1.0, 1: 3.0})\n"
    after, codes = found(f"{weights}{ONE}{TRAIN}parallel.fit_generator(rows, class_weight=weights)\n")
    assert ("TFM219", "rewrite") in codes
    assert "class_weight" not in after


LAYERS = "inputs = Input((8,))\ncode = Dense(2)(inputs)\nother = Dense(2)(inputs)\nshape = K.int_shape(code)\n"


@pytest.mark.parametrize(
    ("layer", "after", "action"),
    [
        ("Lambda(lambda x: K.sum(code))(code)", "Lambda(lambda x: K.sum(x))(code)", "rewrite"),
        ("Lambda(lambda x: code + other)(code)", "Lambda(lambda x: code + other)(code)", "warn"),
        ("Lambda(lambda x: x + other)(code)", "Lambda(lambda x: x + other)(code)", "warn"),
        ("Lambda(lambda code: K.sum(code))(code)", "Lambda(lambda code: K.sum(code))(code)", None),
        ("Lambda(lambda x: K.reshape(x, shape[1:]))(code)", "Lambda(lambda x: K.reshape(x, shape[1:]))(code)", None),
        ("Lambda(lambda x: K.sum(x) * scale)(code)", "Lambda(lambda x: K.sum(x) * scale)(code)", None),
        (
            "Lambda(lambda x: K.reshape(x, K.int_shape(other)[1:]))(code)",
            "Lambda(lambda x: K.reshape(x, K.int_shape(other)[1:]))(code)",
            None,
        ),
        (
            "Lambda(lambda x: K.reshape(x, other.shape[1:]))(code)",
            "Lambda(lambda x: K.reshape(x, other.shape[1:]))(code)",
            None,
        ),
        ("Lambda(lambda x: K.cast(x, K.dtype(code)))(code)", "Lambda(lambda x: K.cast(x, K.dtype(code)))(code)", None),
        (
            "Lambda(lambda x: K.reshape(x, K.shape(other)))(code)",
            "Lambda(lambda x: K.reshape(x, K.shape(other)))(code)",
            "warn",
        ),
        (
            "Lambda(lambda x: K.reshape(other, K.int_shape(other)[1:]))(code)",
            "Lambda(lambda x: K.reshape(other, K.int_shape(other)[1:]))(code)",
            "warn",
        ),
    ],
)
def test_a_layer_that_reads_a_tensor_from_outside(layer: str, after: str, action: str | None) -> None:
    text, codes = found(f"{LAYERS}scale = 2\nmodel = Model(inputs, {layer})\n{TRAIN}")
    assert after in text
    assert {act for code, act in codes if code == "TFM408"} == ({action} if action else set())


@pytest.mark.parametrize(
    ("lines", "refused"),
    [
        ("importlib.import_module('a').Trainer(parallel)", True),
        ("plugin = importlib.import_module(name)\nplugin.run(parallel)", True),
        ("__import__('a').run(parallel)", True),
        ("importlib.import_module('a').run(parallel)\nparallel.fit(x, y)", False),
        ("importlib.import_module('a').run(3)", False),
        ("tools.run(parallel)", False),
    ],
)
def test_a_loop_behind_a_loader_is_refused(lines: str, refused: bool) -> None:
    assert (("TFM119", "refuse") in found(f"{ONE}{TRAIN}{lines}\n")[1]) == refused


@pytest.mark.parametrize(("method", "refused"), [("train_step", True), ("describe", False)])
def test_a_step_that_the_parallel_model_did_not_run_is_refused(method: str, refused: bool) -> None:
    text = f"class Net(Model):\n    def {method}(self, data):\n        return {{}}\n\n\n{ONE}".replace(
        "= Model(", "= Net("
    )
    assert (("TFM119", "refuse") in found(text + TRAIN)[1]) == refused


@pytest.mark.parametrize(
    ("lines", "refused"),
    [
        ("os.environ['KERAS_BACKEND'] = 'theano'\n", True),
        ("backend = os.environ['KERAS_BACKEND'] = 'cntk'\n", True),
        ("os.environ.setdefault('KERAS_BACKEND', 'mxnet')\n", True),
        ("os.environ['KERAS_BACKEND'] = 'tensorflow'\n", False),
        ("os.environ['KERAS_BACKEND'] = chosen\n", False),
        ("backends = {}\nbackends['KERAS_BACKEND'] = 'theano'\n", False),
    ],
)
def test_another_backend_is_refused(lines: str, refused: bool) -> None:
    text, codes = found(lines + ONE + TRAIN)
    assert (("TFM120", "refuse") in codes) == refused
    assert ("MirroredStrategy" in text) != refused


def test_the_contexts_of_mxnet_are_refused() -> None:
    assert ("TFM120", "refuse") in found(ONE + TRAIN.replace('"mse"', '"mse", context=["gpu(0)"]'))[1]
