"""What comes from a module out of sight counts as possible: it is mended where that is safe, or reported."""

from __future__ import annotations

import pytest

from tests.kit import migrate

HEAD = """from keras.utils import Sequence, multi_gpu_model
from nets import build
import data
import losses


class Rows(Sequence):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return data.load(index)


def batches():
    while True:
        yield data.load(0)


model = build()
parallel = multi_gpu_model(model, gpus=2)
"""


def found(lines: str) -> set[tuple[str, str]]:
    file = migrate(f"{HEAD}{lines}\n")
    return {(f.code, f.action) for f in file.findings if f.code in ("TFM402", "TFM403", "TFM409")}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("parallel.fit_generator(batches(), steps_per_epoch=3)", {("TFM402", "rewrite")}),
        ("parallel.fit_generator(Rows(), steps_per_epoch=3, epochs=2)", {("TFM409", "rewrite")}),
        ("parallel.fit_generator(data.batches(), steps_per_epoch=3)", {("TFM402", "warn")}),
        ("rows = data.batches()\nparallel.fit_generator(rows, steps_per_epoch=3)", {("TFM402", "warn")}),
        ("parallel.fit(data.batches(), steps_per_epoch=3)", {("TFM402", "warn")}),
        ("parallel.fit(data.batches(), data.targets())", set()),
        ("parallel.fit(data.batches(), validation_data=data.test(), batch_size=8)", set()),
        ("parallel.compile('sgd', losses.dice)", {("TFM403", "warn")}),
        ("parallel.compile('sgd', loss={'a': losses.dice, 'b': 'mse'})", {("TFM403", "warn")}),
        ("parallel.compile('sgd', losses.focal(2), ['acc'])", {("TFM403", "warn")}),
        ("parallel.compile('sgd', 'mse', metrics=[losses.dice])", set()),
        ("parallel.compile('sgd', 'mse')", set()),
        ("parallel.fit_generator(Rows())", set()),
        ("parallel.evaluate_generator(data.batches(), steps=3)", set()),
        ("other = data.Other()\nother.compile('sgd', losses.dice)", set()),
    ],
)
def test_a_model_loss_or_generator_out_of_sight(lines: str, expected: set[tuple[str, str]]) -> None:
    assert found(lines) == expected


@pytest.mark.parametrize("loss", ["keras.losses.mse", "tf.keras.losses.MeanSquaredError()"])
def test_the_losses_of_keras_are_known(loss: str) -> None:
    assert found(f"import keras\nimport tensorflow as tf\nparallel.compile('sgd', {loss})") == set()


def test_a_model_that_an_unknown_object_holds_is_trained_by_fit() -> None:
    """What a class keeps for all its callers is not known: `fit_generator` is Keras's all the same."""
    holder = (
        "import keras\nfrom keras.utils import multi_gpu_model\n\n\nclass Holder:\n    one = None\n\n"
        "    def __init__(self, gpus):\n"
        "        self.model = keras.Sequential([keras.layers.Dense(1, input_shape=(4,))])\n"
        "        self.parallel = multi_gpu_model(self.model, gpus)\n        self.parallel.compile('sgd', 'mse')\n\n"
        "    @staticmethod\n    def get(config):\n        if Holder.one is None:\n"
        "            Holder.one = Holder(**config)\n        return Holder.one\n"
    )
    train = (
        "from keras.callbacks import EarlyStopping\nfrom holder import Holder\nfrom data import batches\n\n"
        "held = Holder.get({'gpus': 2})\nheld.parallel.fit_generator(batches, epochs=3)\n"
    )
    assert "held.parallel.fit(batches, epochs=3)" in migrate(train, holder=holder).after
    given = "def batches():\n    while True:\n        yield load()\n"
    own = train.replace("from data import batches\n", given).replace("batches, epochs", "batches(), 9, epochs")
    assert (
        "held.parallel.fit(as_dataset_of(batches()), steps_per_epoch=9, epochs=3)" in migrate(own, holder=holder).after
    )
    for method in ("fit", "train"):
        after = migrate(own.replace("fit_generator", method), holder=holder).after
        assert f"held.parallel.{method}(batches(), 9, epochs=3)" in after


BUILDER = """from keras.layers import Dense
from keras.models import Sequential
from keras.optimizers import Adam
from keras.utils import multi_gpu_model
import settings


class Net:
    def __init__(self, optimizer):
        self.optimizer = optimizer


def build({parameters}):
    {lines}model = Sequential([Dense(1, input_shape=(4,))])
    parallel = multi_gpu_model(model, gpus=2)
    parallel.compile({optimizer}, "mse")
    parallel.compile({optimizer}, "mae")
    return parallel
"""


@pytest.mark.parametrize(
    ("parameters", "lines", "optimizer", "missing"),
    [
        ("optimizer", "", "optimizer", ["what calls build() was not found"]),
        ("optimizer='sgd'", "", "optimizer", ["what calls build() was not found"]),
        ("optimizer=None", "optimizer = optimizer or Adam()\n    ", "optimizer", ["what calls build() was not found"]),
        ("net", "", "settings.optimizer", ["the definition of settings.optimizer was not found"]),
        ("net", "net = Net(net)\n    ", "net.optimizer", ["what calls build() was not found"]),
        ("rate", "optimizer = Adam(lr=rate)\n    ", "optimizer", []),
        ("rate", "", "Adam(rate)", []),
        ("rate", "", "'adam'", []),
        ("rate", "", "settings.make(rate)", []),
    ],
)
def test_an_optimizer_out_of_sight_is_told_once(
    parameters: str, lines: str, optimizer: str, missing: list[str]
) -> None:
    file = migrate(BUILDER.format(parameters=parameters, lines=lines, optimizer=optimizer))
    told = [finding.message.partition(":")[0] for finding in file.findings if finding.code == "TFM023"]
    assert told == missing


GIVEN = """\
from keras.layers import Dense
from keras.models import Sequential
from keras.optimizers import Adam
from keras.utils import multi_gpu_model
from agents import Agent, prepare
import numpy as np

model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
{lines}
"""


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("agent = Agent(model=model)\nagent.compile(Adam())\nagent.fit(None)", 1),
        ("prepare(model, Adam())", 1),
        ("prepare(model)\nprint(model.predict(x))", 0),
        ("model.compile(Adam(), 'mse')\nprepare(model)", 0),
        ("prepare(4)", 0),
        ("print(np.shape(model))", 0),
    ],
)
def test_a_model_that_a_library_is_given_uncompiled_is_told(lines: str, told: int) -> None:
    assert [finding.code for finding in migrate(GIVEN.format(lines=lines)).findings].count("TFM023") == told


@pytest.mark.parametrize("given", ["'adam'", "Adam(1e-3)"])
def test_nothing_is_told_where_the_caller_is_among_the_files(given: str) -> None:
    builder = BUILDER.format(parameters="optimizer", lines="", optimizer="optimizer")
    caller = f"from nets import build\nfrom keras.optimizers import Adam\n\nbuild({given}).fit(x, y)\n"
    file = migrate(builder, nets=builder, caller=caller)
    assert [finding.code for finding in migrate(caller, nets=builder).findings if finding.action != "rewrite"] == []
    assert [finding.code for finding in file.findings if finding.code == "TFM023"] == ["TFM023"]
