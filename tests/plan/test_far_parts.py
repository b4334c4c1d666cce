"""What a compile() far from the strategy is given: made above the wrap, where the parallel model has no name yet."""

from __future__ import annotations

import pytest

from tests.kit import check_migrated

PROGRAM = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.optimizers import SGD
from keras.utils import multi_gpu_model


class Net:
    def __init__(self, gpus):
        self.model = Sequential([Dense(4, input_shape=(8,))])
        self.gpus = gpus

    def spread(self):
        self.parallel = multi_gpu_model(self.model, self.gpus)

    def train(self):
        {lines}
        {receiver}.fit(x, y)


net = Net(4)
net.train()
"""
SCOPE = "        with self.model.distribute_strategy.scope():\n            "


@pytest.mark.parametrize(
    ("receiver", "lines"),
    [
        ("self.parallel", ["self.parallel = multi_gpu_model(self.model, self.gpus)"]),
        ("parallel", ["parallel = multi_gpu_model(self.model, self.gpus)"]),
        ("self.parallel", ["self.spread()"]),
    ],
)
def test_a_part_that_is_made_above_the_wrap_stands_in_the_scope_of_the_model(receiver: str, lines: list[str]) -> None:
    lines = ["rate = SGD(0.1)", *lines, f"{receiver}.compile(rate, 'mse')"]
    file = check_migrated(PROGRAM.format(lines="\n        ".join(lines), receiver=receiver))
    assert f"{SCOPE}rate = SGD(0.1)\n" in file.after
    assert f"        with {receiver}.distribute_strategy.scope():\n            {receiver}.compile(rate" in file.after


def test_one_that_is_made_below_it_stands_in_that_of_the_parallel_model() -> None:
    lines = ["self.spread()", "rate = SGD(0.1)", "self.parallel.compile(rate, 'mse')"]
    file = check_migrated(PROGRAM.format(lines="\n        ".join(lines), receiver="self.parallel"))
    scope = "        with self.parallel.distribute_strategy.scope():\n"
    assert f"{scope}            rate = SGD(0.1)\n            self.parallel.compile(rate" in file.after


def test_where_nothing_is_the_model_yet_the_caller_makes_the_scope() -> None:
    lines = ["rate = SGD(0.1)", "model = self.model", "parallel = multi_gpu_model(model, self.gpus)"]
    text = PROGRAM.format(lines="\n        ".join([*lines, "parallel.compile(rate, 'mse')"]), receiver="parallel")
    file = check_migrated(text)
    assert "with strategy.scope():\n    net = Net(4)\n    net.train()\n" in file.after
    assert "    def train(self):\n        rate = SGD(0.1)\n" in file.after


@pytest.mark.parametrize("between", ["self.rate = 1", "self.model.mark = 1", "self.gpus, rest[0] = 2, 1"])
def test_another_attribute_of_the_same_object_that_is_set_between_them_changes_nothing(between: str) -> None:
    lines = ["rest = [0]", "rate = SGD(0.1)", between, "self.spread()", "self.parallel.compile(rate, 'mse')"]
    file = check_migrated(PROGRAM.format(lines="\n        ".join(lines), receiver="self.parallel"))
    assert f"{SCOPE}rate = SGD(0.1)\n" in file.after


def test_where_the_model_is_bound_between_them_the_caller_makes_the_scope() -> None:
    lines = ["rate = SGD(0.1)", "self.chosen = self.model", "self.chosen.compile(rate, 'mse')"]
    text = PROGRAM.format(lines="\n        ".join(lines), receiver="self.chosen")
    text = text.replace("self.model = Seq", "model = Seq").replace("(self.model, self.gpus)", "(self.base, self.gpus)")
    text = text.replace("self.gpus = gpus", "self.gpus = gpus\n        self.model = multi_gpu_model(model, gpus)")
    text = text.replace("    def spread(self):\n        self.parallel = multi_gpu_model(self.base, self.gpus)\n\n", "")
    text = text.replace("        self.chosen.fit(x, y)\n", "") + "net.chosen.fit(x, y)\n"
    file = check_migrated(text)
    assert "with strategy.scope():\n    net = Net(4)\n    net.train()\n" in file.after
