"""What runs are given so that they can be compared: crossentropy alike, no races of old Keras, defaults of its time."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.conftest import RuntimeFor
from tfmigrate.verify.probe import aligned

from .worlds import Worlds, of_today

OLD = """
import numpy as np
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

template = Sequential([Dense(2, activation="softmax", input_shape=(2,))])
template.set_weights([50 * np.eye(2), np.zeros(2)])
parallel = multi_gpu_model(template, gpus=2)
parallel.compile("sgd", "categorical_crossentropy")
parallel.fit(np.eye(2)[[0, 0, 1, 1]], np.eye(2)[[1, 1, 0, 0]], batch_size=4, epochs=2)
"""
NEW = """
import numpy as np
import tensorflow as tf
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential

strategy = tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"])
with strategy.scope():
    model = Sequential([Dense(2, activation="softmax", input_shape=(2,))])
    model.set_weights([50 * np.eye(2), np.zeros(2)])
    model.compile("sgd", "categorical_crossentropy")
model.fit(np.eye(2)[[0, 0, 1, 1]], np.eye(2)[[1, 1, 0, 0]], batch_size=4, epochs=2)
"""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize(
    "name", ["genuine keras", "restored keras 3", "restored keras 2", "migrated keras 3", "migrated keras 2"]
)
def test_probabilities_are_cut_off_on_every_side(name: str, worlds: Worlds) -> None:
    """All rows are sure to be wrong: 50 by the logits, and 16.1 where probabilities below 1e-7 are cut off."""
    run = worlds.run(worlds.of(name, NEW if name.startswith("migrated") else OLD))
    assert [step.loss for step in run.trace.steps] == pytest.approx([16.118] * 2, abs=1e-2)


VARIABLE = """
import sys
sys.path.insert(0, {folder!r})
import tensorflow as tf
from types import SimpleNamespace
from probe import aligned
aligned.settle_variables(tf, [SimpleNamespace(name={name!r}, version={version!r})])
variable = tf.Variable([0.0, 1.0])
print(type(variable).__name__, bool(variable))
"""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize(
    ("name", "version", "kind"),
    [
        ("keras", "2.2.4", "ResourceVariable True"),
        ("keras", "2.3.1", "RefVariable True"),
        ("tf.keras", "2.2.4-tf", "RefVariable True"),
    ],
)
def test_variables_of_old_keras_are_read_before_they_are_updated(
    name: str, version: str, kind: str, runtime_for: RuntimeFor
) -> None:
    """They are true as the old kind is, which Conv2DTranspose of Keras 2.1.6 asks. Keras 2.3 makes its own."""
    code = VARIABLE.format(folder=str(Path(aligned.__file__).parent.parent), name=name, version=version)
    python = runtime_for("genuine keras").python
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, timeout=200)
    assert done.stdout.strip() == kind, done.stderr


GATES = """
import numpy as np
from keras.layers import GRU, LSTM
from keras.models import Sequential
from keras.utils import multi_gpu_model

parallel = multi_gpu_model(Sequential([LSTM(3, return_sequences=True, input_shape=(4, 2)), GRU(1)]), gpus=2)
parallel.compile("sgd", "mse")
random = np.random.RandomState(0)
parallel.fit(random.rand(8, 4, 2), random.rand(8, 1), batch_size=4, epochs=2)
"""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", [3, 2])
def test_recurrent_layers_have_the_gates_of_their_keras(keras: int, worlds: Worlds) -> None:
    written = GATES.replace("GRU(1", "GRU(1, reset_after=False").replace("(3,", "(3, recurrent_activation=HARD,")
    written = written.replace("GRU(1,", "GRU(1, recurrent_activation=HARD,").replace("HARD", "'hard_sigmoid'")
    restored = f"restored keras {keras}"
    losses = {}
    for name, world in {
        "2.2": worlds.of(restored, GATES, standalone=True, defaults_of=(2, 2)),
        "2.3": worlds.of(restored, GATES, standalone=True, defaults_of=(2, 3)),
        "tf 1": worlds.of(restored, GATES, defaults_of=(1, 15)),
        "written": worlds.of(restored, written, "written.py", defaults_of=(2, 3)),
    }.items():
        losses[name] = [step.loss for step in worlds.run(world).trace.steps]
    assert losses["2.2"] == losses["tf 1"] == losses["written"]
    assert losses["2.2"] != losses["2.3"]


DOUBLES = """
import numpy as np
import tensorflow as tf
from keras import backend as K
from keras.layers import LSTM, BatchNormalization, Conv2D, Dense, Embedding, Flatten, Input, Reshape, concatenate
from keras.models import Model
from keras.utils import multi_gpu_model


def loss(y_true, y_pred):
    return K.mean(K.square(y_true - y_pred) * tf.cast(tf.shape(y_pred)[1], tf.float32), axis=-1)


pictures, words = Input((6, 6, 2)), Input((3,))
seen = Flatten()(BatchNormalization()(Conv2D(3, 3, activation="relu")(pictures)))
read = LSTM(3, recurrent_activation="sigmoid")(Embedding(9, 2)(words))
template = Model([pictures, words], Dense(2)(BatchNormalization()(concatenate([seen, read]))))
parallel = multi_gpu_model(template, gpus=2)
parallel.compile("adam", loss, metrics=["mae", "categorical_accuracy", "top_k_categorical_accuracy"])
random = np.random.RandomState(0)
inputs = [random.rand(8, 6, 6, 2).astype("float32"), random.randint(9, size=(8, 3))]
parallel.fit(inputs, random.rand(8, 2).astype("float32"), batch_size=4, epochs=2, verbose=0)
"""


@pytest.mark.runs_tensorflow
def test_all_is_computed_in_float64(worlds: Worlds) -> None:
    """Fused batch norm, a cast of the script's own, float32 data, a metric by a kernel that knows float32 alone; the
    steps of Adam agree to the last place."""
    genuine = worlds.run(worlds.of("genuine keras", DOUBLES, doubles=True))
    assert genuine.trace.models[0].dtypes == ("float64",)
    for keras in (3, 2):
        run = worlds.run(of_today(worlds, keras, DOUBLES, doubles=True), genuine)
        assert run.trace.models[0].dtypes == ("float64",)
        expected = [step.loss for step in genuine.trace.steps]
        assert [step.loss for step in run.trace.steps] == pytest.approx(expected, rel=2e-7)
