"""What runs are given so that they can be compared: crossentropy alike, no races of old Keras, defaults of its time."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tfmigrate.verify.probe import aligned
from tfmigrate.verify.run import experiment
from tfmigrate.verify.run.launch import Launch
from tfmigrate.verify.run.runtimes import Runtime
from tfmigrate.verify.run.world import Kind, Limits, World

from .restoring import restored

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
    ("kind", "runtime", "keras"),
    [
        ("genuine", "genuine keras", None),
        ("restored", "keras 3", 3),
        ("restored", "keras 2", 2),
        ("migrated", "keras 3", 3),
        ("migrated", "keras 2", 2),
    ],
)
def test_probabilities_are_cut_off_on_every_side(
    kind: Kind,
    runtime: str,
    keras: int | None,
    tmp_path: Path,
    runtime_for: Callable[[str], Runtime],
    launch: Launch,
) -> None:
    """All rows are sure to be wrong: 50 by the logits, and 16.1 where probabilities below 1e-7 are cut off."""
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "train.py").write_text(NEW if kind == "migrated" else OLD)
    world = World(kind, kind, runtime_for(runtime), folder, "train.py", replicas=2, legacy_keras=keras == 2)
    run = experiment.run(world, Limits(seconds=200), tmp_path / "run", launch=launch)
    assert run.ok, run.message
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
    name: str, version: str, kind: str, runtime_for: Callable[[str], Runtime]
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
def test_recurrent_layers_have_the_gates_of_their_keras(
    keras: int, tmp_path: Path, runtime_for: Callable[[str], Runtime], launch: Launch
) -> None:
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "train.py").write_text(GATES)
    written = GATES.replace("GRU(1", "GRU(1, reset_after=False").replace("(3,", "(3, recurrent_activation=HARD,")
    (folder / "written.py").write_text(
        written.replace("GRU(1,", "GRU(1, recurrent_activation=HARD,").replace("HARD", "'hard_sigmoid'")
    )
    world = World(
        "old", "restored", runtime_for(f"keras {keras}"), folder, "train.py", replicas=2, legacy_keras=keras == 2
    )
    losses = {}
    for name, one in {
        "2.2": replace(world, standalone=True, defaults_of=(2, 2)),
        "2.3": replace(world, standalone=True, defaults_of=(2, 3)),
        "tf 1": replace(world, defaults_of=(1, 15)),
        "written": replace(world, script="written.py", defaults_of=(2, 3)),
    }.items():
        run = experiment.run(one, Limits(seconds=200), tmp_path / name, launch=launch)
        assert run.ok, run.message
        losses[name] = [step.loss for step in run.trace.steps]
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
def test_all_is_computed_in_float64(tmp_path: Path, runtime_for: Callable[[str], Runtime], launch: Launch) -> None:
    """Fused batch norm, a cast of the script's own, float32 data, a metric by a kernel that knows float32 alone; the
    steps of Adam agree to the last place."""
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "train.py").write_text(DOUBLES)
    world = World("old", "genuine", runtime_for("genuine keras"), folder, "train.py", replicas=2, doubles=True)
    genuine = experiment.run(world, Limits(seconds=200), tmp_path / "genuine", launch=launch)
    assert genuine.ok, genuine.message
    assert genuine.trace.models[0].dtypes == ("float64",)
    for keras in (3, 2):
        today = restored(world, keras, runtime_for)
        run = experiment.run(today, Limits(seconds=200), tmp_path / f"keras {keras}", genuine.trace, launch=launch)
        assert run.ok, run.message
        assert run.trace.models[0].dtypes == ("float64",)
        expected = [step.loss for step in genuine.trace.steps]
        assert [step.loss for step in run.trace.steps] == pytest.approx(expected, rel=2e-7)
