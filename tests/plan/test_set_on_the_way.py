"""A number of GPUs, or a condition, that what builds the model sets: it comes too late for the strategy."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated, check_refused

HEAD = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


"""
TAIL = """
model.compile("sgd", "mse")
model.fit(x, y)
"""
NET = "return Sequential([Dense(1, input_shape=(4,))])"
BY_GLOBAL = f"""\
gpus = 1


def build():
    global gpus
    gpus = 2
    {NET}


model = build()
"""
BY_INNER = f"""\
gpus = 1


def prepare():
    global gpus
    gpus = count()


def build():
    prepare()
    {NET}


model = build()
"""
BY_MODULE = f"""\
import settings


def build():
    settings.gpus = 2
    {NET}


model = build()
"""
BY_ITEM = f"""\
options = {{"gpus": 1}}


def build():
    options["gpus"] = 2
    {NET}


model = build()
"""
IN_LINE = """\
model = Sequential([Dense(1, input_shape=(4,))])
options["gpus"] = 2
"""
BY_LIST = """\
ids = [0]
model = Sequential([Dense(1, input_shape=(4,))])
ids.append(1)
"""


@pytest.mark.parametrize(
    ("code", "gpus"),
    [
        (BY_GLOBAL, "gpus"),
        (BY_INNER, "gpus"),
        (BY_MODULE, "settings.gpus"),
        (BY_ITEM, 'options["gpus"]'),
        (IN_LINE, 'options["gpus"]'),
        (BY_LIST, "len(ids)"),
        (BY_LIST, "ids"),
    ],
)
def test_a_number_that_the_builder_sets_comes_too_late(code: str, gpus: str) -> None:
    check_refused(f"{HEAD}{code}model = multi_gpu_model(model, gpus={gpus}){TAIL}", "TFM103")


@pytest.mark.parametrize("code", [BY_GLOBAL, BY_INNER])
def test_so_does_a_condition(code: str) -> None:
    check_refused(f"{HEAD}{code}if gpus > 1:\n    model = multi_gpu_model(model, gpus=4){TAIL}", "TFM103")


OBJECT = """\
class Network:
    def __init__(self, wanted):
        self.gpus = 1
        self.wanted = wanted
        self.model = self.build()
        if self.gpus > 1:
            self.model = multi_gpu_model(self.model, self.gpus)
        self.model.compile("sgd", "mse")

    def build(self):
{set}        return Sequential([Dense(1, input_shape=(4,))])


Network(2).model.fit(x, y)
"""


def test_the_model_of_an_object_is_copied_instead() -> None:
    file = check_migrated(HEAD + OBJECT.replace("{set}", "        self.gpus = self.wanted or 1\n"))
    assert "self.model = replicated(self.model)" in file.after
    assert file.after.index("self.model = self.build()") < file.after.index("MirroredStrategy(")


SAME = f"""\
gpus = 1


def choose():
    global gpus
    gpus = 2


def build():
    {NET}


choose()
model = build()
"""
OTHER_OBJECT = f"""\
import argparse


class Builder:
    def build(self):
        self.gpus = 7
        {NET}


parser = argparse.ArgumentParser()
parser.add_argument("--gpus", type=int)
settings = parser.parse_args()
model = Builder().build()
"""
OTHER_ITEM = f"""\
options = {{"gpus": 2}}


def build():
    options["units"] = 3
    {NET}


model = build()
options["built"] = True
"""
OWN_NAME = f"""\
ids = [0, 1]


def build():
    ids = []
    ids.append(3)
    {NET}


model = build()
"""


@pytest.mark.parametrize(
    ("code", "gpus"),
    [
        (SAME, "gpus"),
        (OTHER_OBJECT, "settings.gpus"),
        (OTHER_ITEM, 'options["gpus"]'),
        (OWN_NAME, "len(ids)"),
        (OBJECT.replace("{set}", ""), ""),
    ],
)
def test_what_something_else_sets_or_sets_before_is_known(code: str, gpus: str) -> None:
    wrap = f"model = multi_gpu_model(model, gpus={gpus}){TAIL}" if gpus else ""
    file = check_migrated(HEAD + code + wrap)
    assert "replicated" not in file.after
