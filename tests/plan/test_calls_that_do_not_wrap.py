"""A builder whose parameter says whether to wrap: a call that says no asks for no devices."""

from __future__ import annotations

import pytest

from tests.kit import SETTINGS
from tfmigrate.result import FileResult
from tfmigrate.rewrite import migrate_sources

HEAD = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


"""
FUNCTION = """\
def build(ids, parallel=True):
    model = Sequential([Dense(1, input_shape=(4,))])
    if parallel:
        model = multi_gpu_model(model, gpus=ids)
    model.compile("sgd", "mse")
    return model
"""
INNER = """\
def core(ids, parallel):
    return finish(Sequential([Dense(1, input_shape=(4,))]), parallel, ids)


def finish(model, parallel, ids):
    if parallel:
        model = multi_gpu_model(model, gpus=ids)
    model.compile("sgd", "mse")
    return model


def build(ids, parallel=True):
    return core(ids, parallel)
"""
OBJECT = """\
class Network:
    def __init__(self, ids, parallel=True):
        self.ids = ids
        self.model = self.core()
        if parallel:
            self.spread()
        self.model.compile("sgd", "mse")

    def core(self):
        return Sequential([Dense(1, input_shape=(4,))])

    def spread(self):
        self.model = multi_gpu_model(self.model, gpus=self.ids)


def build(ids, parallel=True):
    return Network(ids, parallel).model
"""
PREPARED = """\
class Network:
    def __init__(self, ids):
        self.ids = ids
        self.model = Sequential([Dense(1, input_shape=(4,))])

    def prepare(self, parallel=True):
        if parallel:
            self.model = multi_gpu_model(self.model, gpus=self.ids)
        self.model.compile("sgd", "mse")


def build(ids, parallel=True):
    network = Network(ids)
    network.prepare(parallel)
    return network.model
"""
LITERAL = "from net import build\n\nbuild(2).fit(x, y)\n"
OPTION = """\
import argparse

from net import build

parser = argparse.ArgumentParser()
parser.add_argument("--gpus", type=int, default=2)
build(parser.parse_args().gpus).fit(x, y)
"""
PASSED = "from net import build\n\n\ndef main(gpus):\n    build(gpus).fit(x, y)\n\n\nmain(3)\n"


def migrated(**modules: str) -> dict[str, FileResult]:
    sources = {f"{name}.py": text for name, text in modules.items()}
    return {file.path: file for file in migrate_sources(sources, SETTINGS)}


def refusals(files: dict[str, FileResult]) -> list[str]:
    return [finding.code for file in files.values() for finding in file.findings if finding.action == "refuse"]


@pytest.mark.parametrize("net", [FUNCTION, INNER, OBJECT, PREPARED])
@pytest.mark.parametrize("train", [LITERAL, OPTION, PASSED])
@pytest.mark.parametrize("call", ["build(2, parallel=False)", "build(None, parallel=False)", "build(1, False)"])
def test_a_script_that_asks_for_one_device_keeps_nothing_from_migrating(net: str, train: str, call: str) -> None:
    files = migrated(net=HEAD + net, train=train, predict=f"from net import build\n\nprint({call}.predict(x))\n")
    assert refusals(files) == []
    after = files["net.py"].after
    assert "multi_gpu_model" not in after
    assert after.count("MirroredStrategy(") == 1
    assert "if parallel\n" in after
    assert "MirroredStrategy" not in files["predict.py"].after


def test_a_comparison_is_decided_by_constants_too() -> None:
    net = HEAD + FUNCTION.replace("gpus=ids", "gpus=4 if ids is None else 2").replace("if parallel", "if parallel > 0")
    train = "from net import build\n\nbuild(None).fit(x, y)\n"
    files = migrated(net=net, train=train, predict="from net import build\n\nprint(build(1, False).predict(x))\n")
    assert refusals(files) == []
    assert "4 if ids is None else 2" in files["net.py"].after


def test_where_nothing_is_wrapped_there_is_the_default_strategy() -> None:
    net = f"{HEAD}def spread(model, parallel=True):\n    return multi_gpu_model(model, 2) if parallel else model\n"
    head = "from keras.layers import Dense\nfrom keras.models import Sequential\n\nfrom net import spread\n\n"
    model = "Sequential([Dense(1, input_shape=(4,))])"
    train = f'{head}model = spread({model})\nmodel.compile("sgd", "mse")\nmodel.fit(x, y)\n'
    files = migrated(net=net, train=train, predict=f"{head}print(spread({model}, parallel=False).predict(x))\n")
    assert refusals(files) == []
    assert "MirroredStrategy(" in files["train.py"].after
    assert "if False" not in files["predict.py"].after
    assert "MirroredStrategy(" not in files["predict.py"].after
