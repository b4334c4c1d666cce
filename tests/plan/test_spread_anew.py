"""Models that trained on one GPU, and stand in the scope of a strategy now (TFM429)."""

from __future__ import annotations

import pytest

# ruff: noqa: E501 (a line for each case)
from tests.kit import actions, migrate
from tfmigrate.rewrite import migrate_sources
from tfmigrate.settings import Settings

HEAD = """\
from keras.layers import Dense
from keras.models import Sequential, load_model
from keras.utils import multi_gpu_model


class Net:
    def __init__(self, gpus):
        self.gpus = gpus

    def build(self):
        return Sequential([Dense(1, input_shape=(4,))])

    def compile(self):
        self.model.compile("sgd", "mse")

    def train(self, batches):
        self.model.fit(batches)

"""
CREATE = """\
    def create(self):
        self.model = self.build()
        if self.gpus > 1:
            self.model = multi_gpu_model(self.model, gpus=self.gpus)
        self.compile()

"""
LOAD = """\
    def load(self, path):
        self.model = self.build()
        self.compile()
        self.model.load_weights(path)

"""


def test_the_line_that_builds_it_again_is_named() -> None:
    file = migrate(HEAD + CREATE + LOAD)
    (found,) = [finding for finding in file.findings if finding.code == "TFM429"]
    assert (found.action, HEAD.count("\n") + CREATE.count("\n") + 2) == ("warn", found.line)
    assert "fit() at line 17" in found.message


def test_a_loaded_model_too() -> None:
    restore = "    def restore(self, path):\n        self.model = load_model(path)\n        self.compile()\n"
    assert actions(migrate(HEAD + CREATE + restore), "TFM429") == ["warn"]


@pytest.mark.parametrize(
    "methods",
    [
        CREATE,
        CREATE + LOAD.replace("self.build()", "multi_gpu_model(self.build(), gpus=self.gpus)"),
        # The other arm has a strategy of one device.
        CREATE.replace("        if self.gpus > 1:\n", "        if self.gpus < 2:\n            self.model = self.build()\n        else:\n"),
        # A batch is given to each replica whole.
        (HEAD + CREATE + LOAD).replace("self.model.fit(batches)", "self.model.train_on_batch(batches)"),
        # Nothing trains it.
        CREATE + LOAD.replace("self.model =", "self.other =").replace("self.model.", "self.other.").replace("        self.compile()\n", ""),
    ],
)  # fmt: skip
def test_what_was_spread_before_is_not_reported(methods: str) -> None:
    text = methods if methods.startswith("from") else HEAD + methods
    assert actions(migrate(text), "TFM429") == []


def test_a_model_outside_the_scope_trains_as_before() -> None:
    run = "\nnet = Net(2)\nnet.create()\nnet.train(batches)\nnet.load('a.h5')\nnet.train(batches)\n"
    file = migrate(HEAD + CREATE + LOAD.rstrip("\n") + "\n" + run)
    assert "self.strategy" not in file.after
    assert actions(file, "TFM429") == []


def test_what_is_built_on_a_parallel_model_ran_on_all_gpus() -> None:
    text = (
        "from keras.layers import Dense, Input\nfrom keras.models import Model, Sequential\n"
        "from keras.utils import multi_gpu_model\n\n"
        "encoder = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)\n"
        "rows = Input((4,))\nwhole = Model(rows, encoder(rows))\n"
        'whole.compile("sgd", "mse")\nwhole.fit(batches)\n'
    )
    assert actions(migrate(text), "TFM429") == []


def test_an_arm_that_returns_has_a_strategy_of_one_device() -> None:
    text = (
        "from keras.layers import Dense\nfrom keras.models import Sequential, load_model\n"
        "from keras.utils import multi_gpu_model\n\n\n"
        "def get(path):\n    if path:\n        return load_model(path)\n"
        "    model = Sequential([Dense(1, input_shape=(4,))])\n    return multi_gpu_model(model, gpus=2)\n\n\n"
        'model = get(args.path)\nmodel.compile("sgd", "mse")\nmodel.fit(batches)\n'
    )
    assert actions(migrate(text), "TFM429") == []


BEHIND = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


def get(gpus):
    if gpus > 1:
        model = Sequential([Dense(1, input_shape=(4,))])
        model = multi_gpu_model(model, gpus=gpus)
        model.compile("sgd", "mse")
        return model
    model = Sequential([Dense(1, input_shape=(4,))])
    model.compile("sgd", "mse")
    return model


get(read()).fit(batches)
"""


def test_what_stands_behind_an_arm_that_returned_is_on_one_device() -> None:
    file = migrate(BEHIND)
    assert "if gpus > 1\n        else tf.distribute.get_strategy()" in file.after
    assert actions(file, "TFM429") == []


def test_the_other_arm_is_not_reported_in_another_call_of_the_same_method() -> None:
    net = """\
from keras.layers import Dense, Input
from keras.models import Model
from keras.utils import multi_gpu_model


class Net:
    def __init__(self, gpus=1):
        self.gpus = gpus
        if self.gpus <= 1:
            self.model, inputs = self.build()
            self.compile(inputs)
        else:
            self.model, inputs = self.build()
            self.model = multi_gpu_model(self.model, gpus=self.gpus)
            self.compile(inputs)

    def build(self):
        inputs = Input((4,))

        def block(x):
            return Dense(1)(x)

        model = Model(inputs, block(inputs))
        return model, inputs

    def compile(self, inputs):
        self.model.compile("sgd", "mse")

    def train(self, batches):
        self.model.fit(batches)

    def load(self, path):
        self.model, inputs = self.build()
        self.compile(inputs)
        self.model.load_weights(path)
"""
    use = "from net import Net\n\nnet = Net()\nif __debug__:\n    net.load('a.h5')\nnet.train(batches)\n"
    files = migrate_sources({"net.py": net, "one.py": use, "other.py": use.replace("()", "(1)")}, Settings())
    lines = [(file.path, found.line) for file in files for found in file.findings if found.code == "TFM429"]
    assert lines == [("net.py", net[: net.index("def load")].count("\n") + 2)]
