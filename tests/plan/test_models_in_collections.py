"""Models that a dict or a list holds, wrapped in place."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated, check_refused

HEAD = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


def build():
    return Sequential([Dense(1, input_shape=(4,))])


"""
IN_LOOP = """\
models = {}
for side in ("left", "right"):
    models[side] = build()
"""
OF_OLD = 'models = dict(left=build())\nmodels["right"] = build()\n'
LIST = "models = [build() for side in range(2)]\n"
TRAIN = """\
for side in models:
    models[side].compile("sgd", "mse")
    models[side].train_on_batch(x, y)
"""
LOCAL = """\
for side in models:
    model = models[side]
    models[side] = multi_gpu_model(model, 2)
"""
BY_ITEMS = """\
for side, model in models.items():
    models[side] = multi_gpu_model(model, 2)
"""
DIRECT = """\
for side in ("left", "right"):
    models[side] = multi_gpu_model(models[side], 2)
"""


@pytest.mark.parametrize("made", [IN_LOOP, OF_OLD])
@pytest.mark.parametrize("wrapped", [LOCAL, BY_ITEMS, DIRECT])
def test_models_of_a_dict_are_migrated(made: str, wrapped: str) -> None:
    after = check_migrated(HEAD + made + wrapped + TRAIN).after
    assert "multi_gpu_model" not in after
    assert after.count("MirroredStrategy(") == 1
    assert '    with strategy.scope():\n        models[side].compile("sgd", "mse")' in after


def test_so_are_those_of_a_list() -> None:
    wrapped = "for side in range(2):\n    model = models[side]\n    models[side] = multi_gpu_model(model, 2)\n"
    trained = 'for model in models:\n    model.compile("sgd", "mse")\n    model.train_on_batch(x, y)\n'
    after = check_migrated(HEAD + LIST + wrapped + trained).after
    assert f"with strategy.scope():\n    {LIST}" in after


CLASS = """\
class Sides:
    def __init__(self, gpus):
        self.gpus = gpus
        self.models = {}
        for side in ("left", "right"):
            self.models[side] = self.build()
        self.convert()
        self.prepare()

    def build(self):
        return Sequential([Dense(1, input_shape=(4,))])

    def convert(self):
        if self.gpus > 1:
            for side in ("left", "right"):
                model = self.models[side]
                self.models[side] = multi_gpu_model(model, self.gpus)

    def prepare(self):
        for side in self.models:
            self.models[side].compile("sgd", "mse")

    def train(self, x, y):
        for side in self.models:
            self.models[side].train_on_batch(x, y)


Sides(2).train(x, y)
"""


def test_one_strategy_is_made_for_the_models_that_a_loop_has_built() -> None:
    after = check_migrated(HEAD + CLASS).after
    assert after.count("MirroredStrategy(") == 1
    assert (
        '        with strategy.scope():\n            for side in ("left", "right"):\n'
        "                self.models[side] = self.build()\n"
        "            self.convert()\n            self.prepare()\n" in after
    )


APART = """\
class Sides:
    def __init__(self):
        self.models = {}
        self.models["left"] = self.build()

    def build(self):
        return Sequential([Dense(1, input_shape=(4,))])

    def convert(self, gpus):
        model = self.models["left"]
        self.models["left"] = multi_gpu_model(model, gpus)

    def prepare(self):
        {model}.compile("sgd", "mse")

    def one(self):
        return self.models["left"]


def convert(sides, gpus):
    sides.convert(gpus)
"""
RUN = """

sides = Sides()
convert(sides, 2)
sides.prepare()
"""


@pytest.mark.parametrize("model", ['self.models["left"]', "self.one()"])
def test_a_compile_in_another_method_stands_in_the_scope(model: str) -> None:
    after = check_migrated(HEAD + APART.replace("{model}", model) + RUN).after
    assert after.endswith("with strategy.scope():\n    sides = Sides()\n    convert(sides, 2)\n    sides.prepare()\n")


def test_an_empty_dict_holds_no_model() -> None:
    check_refused(f'{HEAD}models = {{}}\nmodel = multi_gpu_model(models["left"], 2)\n', "TFM104")
