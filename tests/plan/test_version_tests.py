"""What only TensorFlow 1 runs, behind a test of its version, is not changed into what the other arm is."""

from __future__ import annotations

import pytest

from tests.kit import actions, check_migrated, migrate

SCRIPT = """\
import sys
from distutils.version import LooseVersion
import tensorflow as tf
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model

{}
model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
model.compile("sgd", "mse")
"""
OLD, NEW, MENDED = "print(tf.log(3.0))", "print(tf.math.log(3.0))", "print(tf.math.log(3.0))"


def migrated(lines: str) -> str:
    file = migrate(SCRIPT.format(lines))
    assert "multi_gpu_model" not in file.after
    return file.after


@pytest.mark.parametrize(
    "test",
    [
        "tf.__version__ < '2.0'",
        "tf.__version__.startswith('1.')",
        "tf.__version__[0] == '1'",
        "int(tf.__version__.split('.')[0]) < 2",
        "LooseVersion(tf.__version__) < LooseVersion('2.0.0')",
        "not tf.__version__ >= '2'",
        "tf.__version__ < '2' and quick",
        "quick and tf.__version__ < '2'",
        "sys.version_info < (3,)",
        "sys.version_info[0] == 2",
        "sys.version_info.major < 3 and quick",
    ],
)
def test_an_arm_for_tensorflow_1_stays(test: str) -> None:
    assert f"if {test}:\n    {OLD}\nelse:\n    {NEW}\n" in migrated(f"if {test}:\n    {OLD}\nelse:\n    {NEW}\n")
    assert f"{OLD} if {test} else {NEW}" in migrated(f"{OLD} if {test} else {NEW}")


def test_so_does_the_other_arm_of_a_test_for_tensorflow_2() -> None:
    both = f"if tf.__version__[0] == '2':\n    {NEW}\nelse:\n    {OLD}\n"
    assert both in migrated(both)


@pytest.mark.parametrize(
    "test",
    [
        "LooseVersion(tf.__version__) < LooseVersion('2.16')",
        "tf.__version__ < '2' or quick",
        "quick",
        "small < 2",
        "sys.version_info < (3, 9)",
        "sys.version_info >= (3, 9)",
    ],
)
def test_any_other_arm_is_mended(test: str) -> None:
    assert f"if {test}:\n    {MENDED}\n" in migrated(f"if {test}:\n    {OLD}\n")


STOPS = [
    "if tf.keras.__version__ != '2.1.4':\n    raise RuntimeError('old')\n",
    "if tf.__version__ >= '1.13':\n    print('too new')\n    raise SystemExit(1)\n",
    "if int(tf.__version__.split('.')[0]) != 1:\n    exit()\n",
    "assert tf.__version__.startswith('1.'), 'old'\n",
    "assert LooseVersion(tf.__version__) < LooseVersion('2.0')\n",
]


@pytest.mark.parametrize("check", STOPS)
def test_a_check_that_would_stop_the_migrated_program_is_removed(check: str) -> None:
    file = check_migrated(SCRIPT.format(check))
    after = file.after
    assert actions(file, "TFM245") == ["rewrite"]
    assert "__version__" not in after
    assert not any(word in after for word in ("'old'", "SystemExit", "exit"))


@pytest.mark.parametrize(
    "check",
    [
        "if tf.__version__ < '1.13':\n    raise RuntimeError('old')\n",
        "if tf.__version__ != '2.4.0':\n    raise RuntimeError('old')\n",
        "if tf.__version__ != wanted:\n    raise RuntimeError('old')\n",
        "if tf.__version__ >= '1.13':\n    print('new')\n",
        "if tf.__version__ >= '1.13':\n    clean_up()\n    raise RuntimeError('new')\n",
        "if tf.__version__ >= '1.13':\n    raise RuntimeError('new')\nelse:\n    begin()\n",
        "assert tf.__version__ >= '1.13'\n",
        "assert wanted == '1.13'\n",
    ],
)
def test_other_checks_of_versions_stay(check: str) -> None:
    assert check in migrated(check)
