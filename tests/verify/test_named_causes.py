"""A script whose data two NumPys round differently, with all that a migration may lose: on the real TensorFlows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.conftest import RuntimeFor
from tfmigrate.verify.judge import cause
from tfmigrate.verify.judge.compare import compare
from tfmigrate.verify.judge.differences import ROUNDED_DATA
from tfmigrate.verify.run.launch import Launch
from tfmigrate.verify.run.world import Run

from .worlds import Worlds

START = """
import numpy as np
from keras.callbacks import Callback
from keras.initializers import Constant
from keras.layers import Dense, Dropout, Input
from keras.models import Model
from keras.optimizers import SGD


class Shrink(Callback):
    def on_epoch_end(self, epoch, logs=None):
        self.model.set_weights([0.9 * value for value in self.model.get_weights()])


random = np.random.RandomState(0)
x = random.standard_normal((128, 10)).astype("float32")
y = np.tanh(x @ random.standard_normal((10, 2)).astype("float32"))
x = (x - x.mean(axis=0)) / x.std(axis=0) + np.exp(x) / 8
labels = (y[:, :1] > 0).astype("float32")
weight = np.where(labels[:, 0] > 0, 3.0, 1.0).astype("float32")


def build():
    rows = Input((10,))
    h = Dense(8, activation="relu", kernel_initializer="he_normal")(rows)
    h = Dropout(0.25)(h)
    first = Dense(2, kernel_initializer="lecun_uniform", bias_initializer=Constant(0.1), name="first")(h)
    return Model(rows, [first, Dense(1, activation="sigmoid", name="second")(h)])


losses = ["mse", "binary_crossentropy"]
"""
OLD = f"""{START}
from keras.utils import multi_gpu_model
model = multi_gpu_model(build(), gpus=2)
model.compile(SGD(lr=0.05), losses, loss_weights=[1.0, 0.5])
model.fit(x, [y, labels], sample_weight=[weight, weight], batch_size=32, epochs=2, callbacks=[Shrink()], verbose=0)
"""
NEW = f"""{START}
import tensorflow as tf
with tf.distribute.MirroredStrategy().scope():
    model = build()
    model.compile(SGD(learning_rate=0.05), losses, loss_weights=[1.0, 0.5])
data = tf.data.Dataset.from_tensor_slices((x, (y, labels), (weight, weight))).shuffle(128).batch(32)
model.fit(data, epochs=2, callbacks=[Shrink()], verbose=0)
"""
WRONG = [
    (", loss_weights=[1.0, 0.5]", "", "loss weights", "the loss weights of the outputs, 1, 0.5, became none"),
    ("[1.0, 0.5]", "[1.0, 0.6]", "loss weights", "became 1, 0.6"),
    (", (weight, weight))", ")", "sample weights", "sample weights are gone"),
    ("> 0, 3.0, 1.0)", "> 0, 2.0, 1.0)", "sample weights", "the samples have different weights (mean "),
    ('"he_normal"', '"glorot_normal"', "initial weights", "is GlorotNormal instead of HeNormal"),
    ("Constant(0.1)", "Constant(0.2)", "initial weights", "is Constant(value=0.2) instead of Constant(value=0.1)"),
    ("Dropout(0.25)", "Dropout(0.5)", "dropout", "Dropout 0.25 became Dropout 0.5"),
    ("callbacks=[Shrink()], ", "", "callback", "the old script trains with Shrink, the new one without"),
    ("np.exp(x) / 8", "np.exp(x) / 8.001", "data", "batches with different content (values differ by up to "),
    ("/ x.std(axis=0)", "/ (x.std(axis=0) + 1e-4)", "data", "batches with different content (values differ by up to "),
]

pytestmark = pytest.mark.runs_tensorflow
Train = Callable[[str, str], Run]


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory, runtime_for: RuntimeFor, launch: Launch) -> Worlds:
    return Worlds(tmp_path_factory.mktemp("worlds"), runtime_for, launch)


@pytest.fixture(scope="module")
def old(worlds: Worlds) -> Run:
    return worlds.run(worlds.of("genuine keras", OLD, standalone=True))


@pytest.fixture
def train(worlds: Worlds, old: Run) -> Train:
    """Trains a text from the old run's weights, on today's TensorFlow."""
    return lambda text, name: worlds.run(worlds.of(name, text, standalone=True), old)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (NEW, "migrated keras 3"),
        (OLD, "restored keras 3"),
        (OLD.replace("from keras", "from tensorflow.keras"), "restored keras 2"),
        (NEW.replace("from keras", "from tensorflow.keras"), "migrated keras 2"),
    ],
)
def test_what_is_rounded_and_said_in_other_words_is_the_same(old: Run, train: Train, text: str, name: str) -> None:
    new = train(text, name)
    comparison = compare(old.trace, new.trace, 1e-5)
    assert comparison.broken == ()
    assert comparison.max_relative_difference < 2e-6
    assert {"initializers asked for", "loss weights", "mean weight of a sample", "sample weights"} <= {
        row.what for row in comparison.contract
    }
    assert old.trace.start is not None
    assert new.trace.start is not None
    if old.trace.start.numpy != new.trace.start.numpy:
        rounded = next(known for known in comparison.known if known.name == ROUNDED_DATA)
        assert 0 < rounded.size < 1e-6
    assert new.trace.fits[0].callbacks == ("Shrink",)


@pytest.mark.parametrize(("before", "after", "kind", "words"), WRONG)
def test_what_a_migration_loses_has_a_name(
    old: Run, train: Train, before: str, after: str, kind: str, words: str
) -> None:
    assert before in NEW
    new = train(NEW.replace(before, after), "migrated keras 3")
    found = cause.find(old.trace, new.trace, compare(old.trace, new.trace, 1e-5))
    assert found is not None
    assert (found.kind, words in found.cause) == (kind, True), found.cause
