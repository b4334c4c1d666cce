"""The probe in real TensorFlows: one program in every world, step by step against the genuine old run."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from tests.conftest import RuntimeFor
from tfmigrate.verify.judge.compare import compare
from tfmigrate.verify.run import experiment, side_by_side
from tfmigrate.verify.run.launch import Launch
from tfmigrate.verify.run.runtimes import Runtime
from tfmigrate.verify.run.trace import Moment, Trace
from tfmigrate.verify.run.world import Limits, Run, World

PROBE = experiment.PROBE.parent
TOLERANCE = 1e-5

DENSE_OLD = """
import numpy as np
from keras.callbacks import Callback
from keras.layers import Dense, Dropout
from keras.models import Sequential
from keras.utils import multi_gpu_model

random = np.random.RandomState(0)
x = random.rand(1024, 20).astype("float32")
y = x.dot(random.randn(20, 5)).argmax(axis=1)

class Show(Callback):
    def on_epoch_end(self, epoch, logs=None):
        print("epoch", epoch, "loss", float(logs["loss"]), "val_loss", float(logs["val_loss"]))

template = Sequential([Dense(32, activation="relu", input_shape=(20,)), Dropout(0.5), Dense(5, activation="softmax")])
parallel = multi_gpu_model(template, gpus=4)
parallel.compile(optimizer="adadelta", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
parallel.fit(x, y, batch_size=128, epochs=3, validation_split=0.25, callbacks=[Show()], verbose=0)

second = Sequential([Dense(4, activation="tanh", input_shape=(20,)), Dense(1)])
second.compile(optimizer="adam", loss="mse")
for start in range(0, 100, 20):
    second.train_on_batch(x[start:start + 20], y[start:start + 20].astype("float32"))
"""

DENSE_NEW = """
import numpy as np
import tensorflow as tf
from tensorflow.keras.callbacks import Callback
from tensorflow.keras.layers import Dense, Dropout
from tensorflow.keras.models import Sequential
from tensorflow.keras.optimizers import Adadelta

random = np.random.RandomState(0)
x = random.rand(1024, 20).astype("float32")
y = x.dot(random.randn(20, 5)).argmax(axis=1)

class Show(Callback):
    def on_epoch_end(self, epoch, logs=None):
        print("epoch", epoch, "loss", float(logs["loss"]), "val_loss", float(logs["val_loss"]))

strategy = tf.distribute.MirroredStrategy(devices=["/gpu:%d" % i for i in range(4)])
with strategy.scope():
    model = Sequential([Dense(32, activation="relu", input_shape=(20,)), Dropout(0.5), Dense(5, activation="softmax")])
    model.compile(optimizer=Adadelta(learning_rate=1.0), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
train = tf.data.Dataset.from_tensor_slices((x[:768], y[:768])).shuffle(768)
train = train.batch(32 * strategy.num_replicas_in_sync).prefetch(tf.data.AUTOTUNE)
validation = tf.data.Dataset.from_tensor_slices((x[768:], y[768:])).batch(128)
model.fit(train, epochs=3, validation_data=validation, callbacks=[Show()], verbose=0)

with strategy.scope():
    second = Sequential([Dense(4, activation="tanh", input_shape=(20,)), Dense(1)])
    second.compile(optimizer="adam", loss="mse")
for start in range(0, 100, 20):
    second.train_on_batch(x[start:start + 20], y[start:start + 20].astype("float32"))
"""

CONV_OLD = """
import numpy as np
from tensorflow.keras.layers import Activation, BatchNormalization, Conv2D, Dense, Flatten, Input, SpatialDropout2D
from tensorflow.keras.models import Model
from tensorflow.keras.optimizers import Adam
from tensorflow.keras.utils import Sequence, multi_gpu_model
from tensorflow.python.client import device_lib

gpus = len([device for device in device_lib.list_local_devices() if device.device_type == "GPU"])
random = np.random.RandomState(0)
y = random.randint(0, 5, 600)
x = (random.rand(5, 8, 8, 1)[y] + 0.5 * random.randn(600, 8, 8, 1)).astype("float32")

class Batches(Sequence):
    def __init__(self, x, y):
        self.x, self.y = x, y
    def __len__(self):
        return len(self.x) // 60
    def __getitem__(self, index):
        part = slice(60 * index, 60 * (index + 1))
        return self.x[part] + np.random.normal(0, 0.1, self.x[part].shape), self.y[part]

inputs = Input((8, 8, 1))
hidden = Conv2D(8, 3, padding="same", use_bias=False)(inputs)
hidden = SpatialDropout2D(0.3)(Activation("relu")(BatchNormalization()(hidden)))
template = Model(inputs, Dense(5, activation="softmax")(Flatten()(hidden)))
parallel = multi_gpu_model(template, gpus=gpus) if gpus > 1 else template
parallel.compile(optimizer=Adam(lr=0.01, decay=0.01), loss="sparse_categorical_crossentropy")
parallel.fit_generator(Batches(x[:480], y[:480]), epochs=2, validation_data=Batches(x[480:], y[480:]), workers=4,
                       use_multiprocessing=True, verbose=0)
"""

CONV_NEW = (
    CONV_OLD.split("inputs = ")[0]
    .replace("from tensorflow.python.client import device_lib\n", "")
    .replace("Sequence, multi_gpu_model", "Sequence")
    .replace('device_lib.list_local_devices() if device.device_type == "GPU"', 'tf.config.list_physical_devices("GPU")')
    .replace("import numpy as np\n", "import numpy as np\nimport tensorflow as tf\n")
    + """
strategy = tf.distribute.MirroredStrategy() if gpus > 1 else tf.distribute.get_strategy()
with strategy.scope():
    inputs = Input((8, 8, 1))
    hidden = Conv2D(8, 3, padding="same", use_bias=False)(inputs)
    hidden = SpatialDropout2D(0.3)(Activation("relu")(BatchNormalization()(hidden)))
    model = Model(inputs, Dense(5, activation="softmax")(Flatten()(hidden)))
    rate = tf.keras.optimizers.schedules.InverseTimeDecay(0.01, 1, 0.01)
    model.compile(optimizer=Adam(learning_rate=rate), loss="sparse_categorical_crossentropy")
model.fit(Batches(x[:480], y[:480]), epochs=2, validation_data=Batches(x[480:], y[480:]), verbose=0)
"""
)

BRANCHES_OLD = """
import numpy as np
from keras.layers import GRU, LSTM, Add, Concatenate, Dense, Embedding, Input
from keras.models import Model
from keras.optimizers import Adam
from keras.regularizers import l2
from keras.utils import multi_gpu_model

random = np.random.RandomState(1)
numbers, words = random.rand(320, 6).astype("float32"), random.randint(0, 30, (320, 7))
kind, size = random.randint(0, 3, 320), (numbers.sum(axis=1, keepdims=True) * 2).astype("float32")
weight = random.rand(320)

a, b = Input((6,), name="xs"), Input((7,), name="words")
text = Embedding(30, 8)(b)
text = Concatenate()([LSTM(5, dropout=0.2, recurrent_dropout=0.2)(text), GRU(4)(text)])
hidden = Concatenate()([text, Add()([Dense(8, activation="relu", kernel_regularizer=l2(0.01))(a), Dense(8)(a)])])
template = Model([a, b], [Dense(3, activation="softmax", name="kind")(hidden), Dense(1, name="size")(hidden)])
parallel = multi_gpu_model(template, gpus=[0, 1])
parallel.compile(Adam(lr=0.01), loss={"kind": "sparse_categorical_crossentropy", "size": "mse"},
                 loss_weights={"kind": 1.0, "size": 0.5})
parallel.fit([numbers, words], [kind, size], batch_size=64, epochs=2, sample_weight=[weight, weight], verbose=0)
parallel.fit({"xs": numbers, "words": words}, {"kind": kind, "size": size}, batch_size=64, verbose=0)

def batches():
    while True:
        rows = np.random.randint(0, 320, 40)
        yield [numbers[rows], words[rows]], [kind[rows], size[rows]]

parallel.fit_generator(batches(), steps_per_epoch=3, epochs=2, verbose=0)
"""

BRANCHES_NEW = (
    BRANCHES_OLD.split("\na, b = ")[0]
    .replace("from keras.", "from tensorflow.keras.")
    .replace("from tensorflow.keras.utils import multi_gpu_model", "import tensorflow as tf")
    + """
strategy = tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"])
with strategy.scope():
    a, b = Input((6,), name="xs"), Input((7,), name="words")
    text = Embedding(30, 8, embeddings_regularizer=l2(0.0))(b)
    text = Concatenate()([LSTM(5, dropout=0.2, recurrent_dropout=0.2)(text), GRU(4, reset_after=False)(text)])
    hidden = Concatenate()([text, Add()([Dense(8, activation="relu", kernel_regularizer=l2(0.01))(a), Dense(8)(a)])])
    model = Model([a, b], [Dense(3, activation="softmax", name="kind")(hidden), Dense(1, name="size")(hidden)])
    model.compile(Adam(learning_rate=0.01), loss={"kind": "sparse_categorical_crossentropy", "size": "mse"},
                  loss_weights={"kind": 1.0, "size": 0.5})
data = tf.data.Dataset.from_tensor_slices(((numbers, words), (kind, size), (weight, weight))).shuffle(100).batch(64)
model.fit(data, epochs=2, verbose=0)
data = tf.data.Dataset.from_tensor_slices(({"xs": numbers, "words": words}, {"kind": kind, "size": size}))
model.fit(data.batch(64), verbose=0)

def batches():
    while True:
        rows = np.random.randint(0, 320, 40)
        yield (numbers[rows], words[rows]), (kind[rows], size[rows])

floats, integers = tf.TensorSpec((None, 6), tf.float32), tf.TensorSpec((None, 7), tf.int64)
targets = tf.TensorSpec((None,), tf.int64), tf.TensorSpec((None, 1), tf.float32)
data = tf.data.Dataset.from_generator(batches, output_signature=((floats, integers), targets))
model.fit(data, steps_per_epoch=3, epochs=2, verbose=0)
"""
)

PREDICT_OLD = """
import numpy as np
from tensorflow.keras.layers import Concatenate, Dense, Input
from tensorflow.keras.models import Model, load_model
from tensorflow.keras.utils import Sequence, multi_gpu_model

random = np.random.RandomState(0)
a, b = random.rand(91, 4).astype("float32"), random.rand(91, 3).astype("float32")

class Batches(Sequence):
    def __len__(self):
        return 5
    def __getitem__(self, index):
        part = slice(18 * index, 18 * (index + 1))
        return ((a[part] + np.random.normal(0, 0.1, (18, 4)), b[part]),)

first, second = Input((4,)), Input((3,))
both = Dense(6, activation="tanh")(Concatenate()([first, second]))
template = Model([first, second], [Dense(5, activation="softmax", name="kind")(both), Dense(1, name="size")(first)])
parallel = multi_gpu_model(template, gpus=4)
print([part.shape for part in parallel.predict([a, b], batch_size=30)])
template.predict([a[:7], b[:7]])
parallel.predict_generator(Batches())
template.save("whole.h5")
loaded = multi_gpu_model(load_model("whole.h5", compile=False), gpus=4)
loaded.predict([a[::-1], b], batch_size=91)
"""

PREDICT_NEW = (
    PREDICT_OLD.split("\nfirst, second")[0]
    .replace("Sequence, multi_gpu_model", "Sequence")
    .replace("import numpy as np\n", "import numpy as np\nimport tensorflow as tf\n")
    + """
strategy = tf.distribute.MirroredStrategy(["/gpu:%d" % i for i in range(4)])
with strategy.scope():
    first, second = Input((4,)), Input((3,))
    both = Dense(6, activation="tanh")(Concatenate()([first, second]))
    model = Model([first, second], [Dense(5, activation="softmax", name="kind")(both), Dense(1, name="size")(first)])
print([part.shape for part in model.predict([a, b], batch_size=30)])
model.predict([a[:7], b[:7]])
model.predict(Batches())
model.save("whole.h5")
with strategy.scope():
    loaded = load_model("whole.h5", compile=False)
loaded.predict([a[::-1], b], batch_size=91)
"""
)

OWN_STEP = """
import numpy as np
import tensorflow as tf
from tensorflow import keras

class Line(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1)
        self.tracker = keras.metrics.Mean(name="loss")
    def call(self, x):
        return self.dense(x)
    @property
    def metrics(self):
        return [self.tracker]
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(self(x, training=True)[:, 0] - y)) / 64
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        self.tracker.update_state(loss)
        return {"loss": self.tracker.result()}

random = np.random.RandomState(0)
x = random.rand(256, 4).astype("float32")
with tf.distribute.MirroredStrategy().scope():
    model = Line()
    model.compile(keras.optimizers.SGD(0.1))
history = model.fit(tf.data.Dataset.from_tensor_slices((x, x.sum(axis=1))).batch(64), epochs=2, verbose=0)
print(*history.history["loss"])
"""

CLIPPED = """
import numpy as np
import tensorflow as tf
from tensorflow import keras

random = np.random.RandomState(0)
x = random.randint(0, 9, (64, 3))
with tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"][:REPLICAS]).scope():
    model = keras.Sequential([
        keras.Input((3,)), keras.layers.Embedding(9, 2), keras.layers.Flatten(),
        keras.layers.Dense(1, kernel_constraint=keras.constraints.MaxNorm(0.01)),
    ])
    model.compile(keras.optimizers.SGD(0.1, clipnorm=1e-4), "mse")
model.fit(tf.data.Dataset.from_tensor_slices((x, x.sum(axis=1).astype("float32"))).batch(64), verbose=0)
"""

DATA = """
import hashlib
from {keras}.datasets import boston_housing, cifar10, imdb, mnist
for data in (boston_housing, cifar10, mnist):
    (x, y), (x_test, y_test) = data.load_data()
    digest = hashlib.sha1(x.tobytes() + y.tobytes() + x_test.tobytes() + y_test.tobytes()).hexdigest()
    print(data.__name__.split(".")[-1], x.shape, x.dtype, y.shape, y.dtype, x_test.shape, digest)
(x, y), _ = imdb.load_data(num_words=500)
print(x.shape, x.dtype, max(map(max, x)), hashlib.sha1(repr([list(map(int, row)) for row in x]).encode()).hexdigest())
"""


@dataclass(frozen=True)
class Program:
    """An old script and its migration, and every world that ran it."""

    runs: Mapping[str, Run]

    def trace(self, role: str) -> Trace:
        run = self.runs[role]
        assert run.ok, run.message + "\n" + run.stderr_path.read_text()[-3000:]
        return run.trace


def run_worlds(
    factory: pytest.TempPathFactory,
    scripts: tuple[str, str],
    genuine: Runtime,
    modern: Runtime,
    standalone: bool,
    wrong: Mapping[str, str],
    launch: Launch,
) -> Program:
    folder = factory.mktemp("program")
    (folder / "old.py").write_text(scripts[0])
    (folder / "new.py").write_text(scripts[1])
    reference = experiment.run(
        World("genuine", "genuine", genuine, folder, "old.py"),
        Limits(seconds=300),
        factory.mktemp("genuine"),
        launch=launch,
    )
    worlds = [
        World("restored keras 3", "restored", modern, folder, "old.py", standalone=standalone),
        World("restored keras 2", "restored", modern, folder, "old.py", standalone=standalone, legacy_keras=True),
        World("migrated keras 3", "migrated", modern, folder, "new.py"),
        World("migrated keras 2", "migrated", modern, folder, "new.py", legacy_keras=True),
        World("genuine, one thread", "genuine", genuine, folder, "old.py", threads=1),
    ]
    worlds += [
        World(name, "migrated", modern, folder, "new.py", overlay={"new.py": text}) for name, text in wrong.items()
    ]
    done = side_by_side.run_all(
        [(world, reference.trace) for world in worlds],
        Limits(seconds=300),
        [factory.mktemp("run") for _ in worlds],
        launch=launch,
    )
    return Program({"genuine": reference, **{run.world.role: run for run in done}})


def ran(old: str, new: str, genuine: str, wrong: Mapping[str, str] = MappingProxyType({})) -> Any:
    """A fixture: two scripts, run on an old TensorFlow of a kind and on today's, and wrong versions of the new one."""

    @pytest.fixture(scope="module")
    def program(tmp_path_factory: pytest.TempPathFactory, runtime_for: RuntimeFor, launch: Launch) -> Program:
        kinds = runtime_for(genuine), runtime_for("keras 2")
        return run_worlds(tmp_path_factory, (old, new), *kinds, genuine == "genuine keras", wrong, launch)

    return program


WRONG = {
    "default left unwritten": DENSE_NEW.replace("Adadelta(learning_rate=1.0)", '"adadelta"'),
    "batch x4": DENSE_NEW.replace("batch(32 *", "batch(128 *"),
    "other shape": DENSE_NEW.replace("Dense(32", "Dense(33"),
    "outside the scope": DENSE_NEW.replace("    model.compile", "model.compile"),
}
dense = ran(DENSE_OLD, DENSE_NEW, "genuine keras", WRONG)
conv = ran(CONV_OLD, CONV_NEW, "genuine tf.keras")
branches = ran(BRANCHES_OLD, BRANCHES_NEW, "genuine keras")
predicted = ran(PREDICT_OLD, PREDICT_NEW, "genuine tf.keras")


def largest_difference(old: Trace, new: Trace) -> float:
    """Relative, over the raw losses of all steps."""
    return max(abs(a.loss - b.loss) / abs(a.loss) for a, b in zip(old.steps, new.steps, strict=True))


def weights(trace: Trace, model: int, moment: Moment) -> list[object]:
    import numpy as np

    (snapshot,) = [w for w in trace.weights if w.model == model and w.moment == moment]
    with np.load(trace.folder / snapshot.file) as stored:
        return [stored[str(i)] for i in range(len(stored.files))]


def furthest(old: Trace, new: Trace, model: int, moment: Moment, trainable: bool) -> float:
    """The largest absolute difference between weights of one sort; None of that sort is a mistake of the test."""
    import numpy as np

    sort = [flag is trainable for _, _, flag in old.models[model].weights]
    pairs = zip(weights(old, model, moment), weights(new, model, moment), sort, strict=True)
    return max(float(np.abs(np.subtract(a, b)).max()) for a, b, wanted in pairs if wanted)


MODERN = ("restored keras 3", "restored keras 2", "migrated keras 3", "migrated keras 2")

tensorflow = pytest.mark.runs_tensorflow


@tensorflow
def test_the_gradient_is_the_one_before_clipping_and_constraints(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, runtime_for: RuntimeFor, launch: Launch
) -> None:
    """And that of the whole batch, on however many replicas."""
    import numpy as np

    worlds = []
    for replicas in (1, 2):
        (tmp_path / f"on_{replicas}.py").write_text(CLIPPED.replace("REPLICAS", str(replicas)))
        for legacy in (False, True):
            name = f"{replicas} {legacy}"
            script = f"on_{replicas}.py"
            runtime = runtime_for("keras 2")
            worlds.append(World(name, "migrated", runtime, tmp_path, script, replicas=replicas, legacy_keras=legacy))
    folders = [tmp_path_factory.mktemp("clipped") for _ in worlds]
    runs = side_by_side.run_all([(world, None) for world in worlds], Limits(seconds=300), folders, launch=launch)
    assert [run.message for run in runs if not run.ok] == []
    for run in runs:
        assert not any("SGD probe" in note for note in run.trace.notes)
        before, after = weights(run.trace, 0, "initial"), weights(run.trace, 0, "sgd_probe")
        moved = [np.subtract(b, a) for a, b in zip(before, after, strict=True)]
        assert [array.shape for array in moved] == [(9, 2), (6, 1), (1,)]
        assert np.abs(moved[2]).max() > 0.1  # 0.01 times a gradient of some 20; clipped, it would be 1e-6
    for one, two in zip(runs[:2], runs[2:], strict=True):
        assert furthest(one.trace, two.trace, 0, "initial", True) == 0
        assert furthest(one.trace, two.trace, 0, "sgd_probe", True) < 1e-5


@tensorflow
@pytest.mark.parametrize("role", [*MODERN, "genuine, one thread"])
def test_dense_losses_agree_step_by_step(dense: Program, role: str) -> None:
    old, new = dense.trace("genuine"), dense.trace(role)
    assert len(old.steps) == 3 * 6 + 5
    assert [step.fingerprint for step in new.steps] == [step.fingerprint for step in old.steps]
    assert None not in {step.fingerprint for step in old.steps}
    assert largest_difference(old, new) < TOLERANCE


@tensorflow
@pytest.mark.parametrize("role", MODERN)
def test_conv_losses_agree_step_by_step(conv: Program, role: str) -> None:
    """A Sequence with random noise, batch norm, and a decaying learning rate."""
    old, new = conv.trace("genuine"), conv.trace(role)
    assert len(old.steps) == 2 * 8
    assert [step.fingerprint for step in new.steps] == [step.fingerprint for step in old.steps]
    assert len({step.fingerprint for step in old.steps}) == 8
    assert largest_difference(old, new) < TOLERANCE
    rates = [step.learning_rate for step in old.steps]
    assert rates[0] == pytest.approx(0.01)
    assert rates[10] == pytest.approx(0.01 / 1.1)
    assert [step.learning_rate for step in new.steps] == pytest.approx(rates, rel=1e-6)


@tensorflow
@pytest.mark.parametrize("role", MODERN)
def test_branched_losses_agree_step_by_step(branches: Program, role: str) -> None:
    """Several inputs and outputs, lists and dicts (in an order that is not the alphabet's), sample weights, recurrent
    layers, and a plain random generator.
    Adam at 0.01 on a steep loss: without its rates rounded to float32 this stands 2e-5 apart."""
    old, new = branches.trace("genuine"), branches.trace(role)
    assert len(old.steps) == 2 * 5 + 5 + 2 * 3
    assert [step.fingerprint for step in new.steps] == [step.fingerprint for step in old.steps]
    assert largest_difference(old, new) < TOLERANCE
    assert furthest(old, new, 0, "sgd_probe", True) < 1e-6
    asked = [(fit.sample_weight, fit.source) for fit in new.fits]
    if role.startswith("migrated"):
        assert asked == [(True, "dataset"), (False, "dataset"), (False, "dataset")]
        assert new.fits[0].shuffle == "buffer 100"
    else:
        assert [weighted for weighted, _ in asked] == [True, False, False]


@tensorflow
def test_wrong_migrations_stand_far_away(dense: Program) -> None:
    old = dense.trace("genuine")
    assert largest_difference(old, dense.trace("default left unwritten")) > 1e-2
    wrong = dense.trace("batch x4")
    assert wrong.fits[0].global_batch_size == 512
    assert wrong.steps[0].fingerprint != old.steps[0].fingerprint


@tensorflow
def test_a_compile_outside_the_scope_is_the_scripts_own_error(dense: Program) -> None:
    assert dense.runs["outside the scope"].outcome == "crashed"
    assert "Mixing different tf.distribute.Strategy" in dense.runs["outside the scope"].message


@tensorflow
def test_weights_that_do_not_fit_are_named(dense: Program) -> None:
    message = dense.runs["other shape"].message
    assert "the other run's initial weights do not fit model 0" in message
    assert "has shape (20, 33) here and (20, 32) there" in message


@tensorflow
@pytest.mark.parametrize("role", ["genuine", *MODERN])
def test_what_was_asked_is_recorded(dense: Program, conv: Program, role: str) -> None:
    fit, batches = dense.trace(role).fits
    assert (fit.epochs, fit.global_batch_size, fit.steps_per_epoch, fit.samples) == (3, 128, 6, 768)
    assert fit.validation_samples == 256
    assert fit.shuffle == "full"
    assert fit.source == ("dataset" if role.startswith("migrated") else "arrays")
    assert (batches.call, batches.model, batches.global_batch_size) == ("train_on_batch", 1, 20)
    first, second = dense.trace(role).models
    assert first.replicas == 4
    assert second.replicas == (4 if role.startswith("migrated") else 1)
    assert [shape for _, shape, _ in first.weights] == [(20, 32), (32,), (32, 5), (5,)]
    settings = dense.trace(role).compiles[0]
    assert settings.optimizer == "adadelta"
    assert settings.config["learning_rate"] == pytest.approx(1.0)
    assert settings.loss == "sparse_categorical_crossentropy"
    generator = conv.trace(role).fits[0]
    assert (generator.source, generator.shuffle, generator.samples) == ("sequence", "batches", 480)
    assert generator.validation_samples == 120
    assert generator.call == ("fit" if role.startswith("migrated") else "fit_generator")


@tensorflow
@pytest.mark.parametrize("role", ["genuine", *MODERN])
def test_where_the_script_compiles_and_trains_is_recorded(dense: Program, role: str) -> None:
    run, trace = dense.runs[role], dense.trace(role)
    lines = (run.world.source / run.world.script).read_text().splitlines()
    for at, call in ((trace.compiles[0].at, "compile("), (trace.fits[0].at, "fit(")):
        assert at is not None
        file, _, number = at.rpartition(":")
        assert file == run.world.script
        assert call in lines[int(number) - 1], "of a call over several lines Python 3.8 and later know the first"


@tensorflow
@pytest.mark.parametrize("role", ["genuine", *MODERN])
def test_callbacks_still_see_the_means(dense: Program, role: str) -> None:
    """The raw losses are recorded behind the script's back: what it prints is the sample-weighted mean."""
    run = dense.runs[role]
    lines = [line.split() for line in run.stdout_path.read_text().splitlines() if line.startswith("epoch")]
    assert len(lines) == 3
    epochs = [epoch for epoch in dense.trace(role).epochs if epoch.fit == 0]
    for line, epoch in zip(lines, epochs, strict=True):
        raw = [step.loss for step in run.trace.steps if step.fit == 0 and step.epoch == epoch.epoch]
        assert epoch.logs["loss"] == pytest.approx(sum(raw) / len(raw), rel=1e-9)
        assert float(line[3]) == pytest.approx(epoch.logs["loss"], rel=1e-5)
        assert float(line[5]) == pytest.approx(epoch.logs["val_loss"], rel=1e-6)
    assert [e.logs["val_loss"] for e in epochs] == pytest.approx(
        [e.logs["val_loss"] for e in dense.trace("genuine").epochs if e.fit == 0], rel=TOLERANCE
    )


@tensorflow
@pytest.mark.parametrize("role", MODERN)
def test_weights_agree_at_each_moment(dense: Program, role: str) -> None:
    old, new = dense.trace("genuine"), dense.trace(role)
    for model in (0, 1):
        assert furthest(old, new, model, "initial", True) == 0
        for moment in ("after_first_update", "sgd_probe", "final"):
            assert furthest(old, new, model, moment, True) < 1e-5


@tensorflow
@pytest.mark.parametrize("role", MODERN)
def test_the_sgd_probe_shows_the_gradient(dense: Program, role: str) -> None:
    """It moves the weights, by far more than worlds differ, and leaves no trace in the training (see the losses)."""
    import numpy as np

    new = dense.trace(role)
    before, after = weights(new, 0, "initial"), weights(new, 0, "sgd_probe")
    moved = max(float(np.abs(np.subtract(a, b)).max()) for a, b in zip(before, after, strict=True))
    assert 1e-4 < moved < 1e-1


@tensorflow
def test_batch_norm_statistics_differ_where_they_truly_do(conv: Program) -> None:
    """Two updates a step in each tower of old, one under MirroredStrategy; trainable weights do not see it."""
    old, new = conv.trace("genuine"), conv.trace("migrated keras 3")
    assert furthest(old, new, 0, "final", False) > 1e-2
    assert furthest(old, new, 0, "final", True) < 1e-4
    assert furthest(old, conv.trace("restored keras 3"), 0, "final", False) < 1e-2


@tensorflow
@pytest.mark.parametrize("role", MODERN)
def test_replicas_have_devices_of_their_own(dense: Program, role: str) -> None:
    start = dense.trace(role).start
    assert start is not None
    assert len(set(start.devices)) == start.replicas == 4
    assert start.device_kind in ("logical CPU", "logical GPU", "physical GPU")
    assert start.keras.startswith("3." if role.endswith("3") else "2.")


@tensorflow
def test_a_step_of_the_scripts_own(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, runtime_for: RuntimeFor, launch: Launch
) -> None:
    """A model without an input shape, and with a loss metric of its own: raw losses all the same."""
    (tmp_path / "own.py").write_text(OWN_STEP)
    runtime = runtime_for("keras 2")
    worlds = [
        World(f"keras {keras}", "migrated", runtime, tmp_path, "own.py", replicas=2, legacy_keras=keras == 2)
        for keras in (3, 2)
    ]
    folders = [tmp_path_factory.mktemp("own") for _ in worlds]
    limits = Limits(seconds=300)
    for run in side_by_side.run_all([(world, None) for world in worlds], limits, folders, launch=launch):
        assert run.ok, run.message
        losses = [step.loss for step in run.trace.steps]
        assert len(losses) == 8
        assert losses[0] > 2 * losses[1] > 4 * losses[3]  # a running mean falls more slowly
        printed = [float(word) for word in run.stdout_path.read_text().split()]
        assert printed == pytest.approx([sum(losses[:4]) / 4, sum(losses[4:]) / 4], rel=1e-6)
        assert [shape for _, shape, _ in run.trace.models[0].weights] == [(4, 1), (1,)]
        assert "no SGD probe for model 0: it has its own training step" in run.trace.notes


@tensorflow
@pytest.mark.parametrize("role", [*MODERN, "genuine, one thread"])
def test_predictions_agree_call_by_call(predicted: Program, role: str) -> None:
    """Several inputs and outputs, a template beside its parallel model, a random Sequence, and a model that the script
    itself saved and loaded: its weights are the old run's, for they were aligned before they were saved."""
    old, new = predicted.trace("genuine"), predicted.trace(role)
    assert [call.samples for call in old.predictions] == [91, 7, 90, 91]
    assert [len(call.outputs) for call in new.predictions] == [2] * 4
    assert [(model.replicas, model.loaded) for model in new.models] == [(4, False), (4, True)]
    assert [call.model for call in new.predictions] == [0, 0, 0, 1]
    assert [call.fingerprint is None for call in new.predictions] == [False, False, True, False]
    found = compare(old, new, TOLERANCE)
    assert found.equivalent, [row for row in found.contract if not row.same]
    assert found.max_relative_difference < 2e-6


@tensorflow
def test_synthetic_data_is_the_same_everywhere(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, runtime_for: RuntimeFor, launch: Launch
) -> None:
    for name, keras in (("standalone.py", "keras"), ("inside.py", "tensorflow.keras")):
        (tmp_path / name).write_text(DATA.format(keras=keras))
    old, modern = runtime_for("genuine keras"), runtime_for("keras 2")
    worlds = [
        World("1", "genuine", old, tmp_path, "standalone.py", synthetic_data=True),
        World("2", "genuine", old, tmp_path, "inside.py", synthetic_data=True),
        World("3", "migrated", modern, tmp_path, "inside.py", synthetic_data=True),
        World("4", "migrated", modern, tmp_path, "inside.py", synthetic_data=True, legacy_keras=True),
        World("5", "restored", modern, tmp_path, "standalone.py", synthetic_data=True, legacy_keras=True),
    ]
    folders = [tmp_path_factory.mktemp("data") for _ in worlds]
    runs = side_by_side.run_all([(world, None) for world in worlds], Limits(seconds=300), folders, launch=launch)
    printed = [run.stdout_path.read_text() for run in runs]
    assert [run.outcome for run in runs] == ["trained nothing"] * len(runs), [run.message for run in runs]
    assert "mnist (1024, 28, 28) uint8 (1024,) uint8 (256, 28, 28)" in printed[0]
    assert "cifar10 (1024, 32, 32, 3) uint8 (1024, 1) uint8" in printed[0]
    assert "499" in printed[0].splitlines()[-1]
    assert set(printed) == {printed[0]}


# Without TensorFlow


@pytest.mark.parametrize("path", sorted(PROBE.glob("*.py")), ids=lambda path: path.name)
def test_the_probe_is_python_3_5_and_needs_nothing_but_tensorflow(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 5))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr | ast.AnnAssign | ast.NamedExpr)]
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            imported.add((node.module or "").split(".")[0])
    assert imported <= set(sys.stdlib_module_names) | {"numpy", "tensorflow"}
