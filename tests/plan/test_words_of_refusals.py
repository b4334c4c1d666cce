"""What is refused is said in words that are true of the program at hand."""

from __future__ import annotations

import pytest

from tests.kit import check_refused
from tfmigrate.settings import Settings

HEAD = """\
import os
import tensorflow as tf
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


def prepare():
    {line}


model = Sequential([Dense(1, input_shape=(4,))])
prepare()
parallel = multi_gpu_model(model, {arguments})
parallel.compile("sgd", "mse")
parallel.train_on_batch(x, y)
"""


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"', ("the GPUs are chosen at line 9", "choose them above")),
        ('tf.config.set_visible_devices(gpus, "GPU")', ("the GPUs are chosen at line 9", "choose them above")),
        (
            "tf.config.experimental.set_memory_growth(gpu, True)",
            ("the GPUs are set up (set_memory_growth) at line 9", "set them up above"),
        ),
    ],
)
def test_gpus_are_chosen_or_set_up(line: str, words: tuple[str, ...]) -> None:
    (finding,) = check_refused(HEAD.format(line=line, arguments="gpus=2"), "TFM103").findings
    assert all(part in finding.message for part in words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("2, True, False, 3", "it gets more than 4 arguments"),
        ("2, name='a'", "it gets `name=`, which does not exist"),
        ("**options", "the model or the number of GPUs is passed by *args or **kwargs"),
    ],
)
def test_arguments_that_cannot_be_read_are_named(arguments: str, words: str) -> None:
    (finding,) = check_refused(HEAD.format(line="pass", arguments=arguments), "TFM106").findings
    assert finding.message.startswith(f"the call of multi_gpu_model cannot be read: {words}")


def test_a_number_that_callers_pass_is_theirs_to_know_earlier() -> None:
    text = """\
import json
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


def spread(model, count):
    return multi_gpu_model(model, gpus=count)


model = Sequential([Dense(1, input_shape=(4,))])
settings = json.load(open("settings.json"))
parallel = spread(model, settings["gpus"])
parallel.compile("sgd", "mse")
"""
    refused = check_refused(text, "TFM103", settings=Settings(ignore=("TFM026",)))
    (message,) = [finding.message for finding in refused.findings if finding.code == "TFM103"]
    assert message.endswith("move what spread() is passed for it above that line")
