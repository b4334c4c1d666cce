"""Wrong migrations made by hand: the mistakes, B1 to B19, that a review found in what an early version of the migration
wrote without telling. verify() tells each that changes the training or stops the run, and names its cause."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import RuntimeFor
from tfmigrate.verify.judge.plan import VerifyOptions
from tfmigrate.verify.judge.report import Report
from tfmigrate.verify.judge.verdict import verify
from tfmigrate.verify.run.launch import Launch

from .once import Once

Files = Mapping[str, str]

# One old program with many traps, and its right migration; each wrong one differs from that in a line or two.

DATA = """import numpy as np

random = np.random.RandomState(0)
x = random.rand(40, 6).astype("float32")
y = (x.sum(axis=1) > 3).astype("float32")
"""
NETS = """from keras.layers import Dense
from keras.models import Sequential


def build(width):
    return Sequential([Dense(width, activation="tanh", input_shape=(6,)), Dense(1, activation="sigmoid")])
"""
PARALLEL = """

class Parallel(Model):
    def __init__(self, template, gpus):
        self.__dict__.update(multi_gpu_model(template, gpus).__dict__)
"""
WATCHED = """
def watched(kind):
    return "val_" + kind + "acc"


gpus = 2
"""
PLATEAU = 'ReduceLROnPlateau(watched(""), mode="max", factor=float(np.sqrt(0.25)), patience=1, min_delta=1)'
OLD = f"""from keras.callbacks import Callback, ReduceLROnPlateau
from keras.optimizers import *
from keras.utils import multi_gpu_model

from data import x, y
from nets import Parallel, build


class SaveTemplate(Callback):
    def on_epoch_end(self, epoch, logs=None):
        self.model.layers[-(1 + 1)].save_weights("epoch%d.h5" % epoch)


def batches():
    while True:
        for start in range(0, 40, 8):
            yield x[start : start + 8], y[start : start + 8]


def wrap(net, weight_decay=1e-4, gpus=None):
    return multi_gpu_model(net, gpus=gpus)

{WATCHED}
model = wrap(build(8), gpus=gpus)
model.compile(SGD(lr=0.5), "binary_crossentropy", metrics=["acc"])
callbacks = [SaveTemplate(), {PLATEAU}]
model.fit_generator(
    batches(), steps_per_epoch=5, epochs=3, validation_data=(x[:16], y[:16]), callbacks=callbacks, workers=4, verbose=0
)
"""
GROW = """for physical in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(physical, True)
"""
NEW = f"""import numpy as np
import tensorflow as tf
from tensorflow.keras.callbacks import Callback, ReduceLROnPlateau
from tensorflow.keras.optimizers import *

from data import x, y
from nets import build


class SaveTemplate(Callback):
    def on_epoch_end(self, epoch, logs=None):
        self.model.save_weights("epoch%d.weights.h5" % epoch)


class Batches(tf.keras.utils.Sequence):
    def __len__(self):
        return 5

    def __getitem__(self, index):
        return x[8 * index : 8 * index + 8], y[8 * index : 8 * index + 8]


def batches():
    while True:
        for start in range(0, 40, 8):
            yield x[start : start + 8], y[start : start + 8]

{WATCHED}
{GROW}
devices = ["/gpu:%d" % i for i in range(gpus)]
strategy = tf.distribute.MirroredStrategy(devices)
with strategy.scope():
    model = build(8)
    model.compile(SGD(learning_rate=0.5), "binary_crossentropy", metrics=["acc"])
callbacks = [SaveTemplate(), {PLATEAU}]
validation = (x[:16], y[:16])
model.fit(Batches(), shuffle=False, epochs=3, validation_data=validation, callbacks=callbacks, verbose=0)
"""
OLD_NETS = NETS.replace("Sequential\n", "Model, Sequential\nfrom keras.utils import multi_gpu_model\n", 1) + PARALLEL
OLD_PROGRAM = {"data.py": DATA, "nets.py": OLD_NETS, "train.py": OLD}
NEW_PROGRAM = {"data.py": DATA, "nets.py": NETS.replace("from keras", "from tensorflow.keras"), "train.py": NEW}


def wrong(*changes: tuple[str, str]) -> Files:
    """The right new program with these changes."""
    text = NEW
    for before, after in changes:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    return {**NEW_PROGRAM, "train.py": text}


# Programs of their own, where today's Keras refuses what the old one did, or the mistake needs another model.

START = """import os

import numpy as np
from keras import backend as K
from keras.layers import *
from keras.losses import Loss
from keras.models import Model, Sequential
from keras.optimizers import SGD
from keras.utils import multi_gpu_model

random = np.random.RandomState(0)
x = random.rand(32, 6).astype("float32")
y = random.rand(32, 2).astype("float32")


"""
TRAINED = (
    "model.compile(SGD({rate}=0.5), {loss})\nmodel.fit(x, {targets}, batch_size=16, shuffle=False, verbose=0{more})\n"
)
PLAIN = """def build():
    return Sequential([Dense(4, activation="tanh", input_shape=(6,)), Dense(2)])


"""


def todays(text: str) -> str:
    """With the imports of today."""
    text = text.replace("from keras.utils import multi_gpu_model", "import tensorflow as tf")
    return text.replace("from keras", "from tensorflow.keras")


def pair(build: str, gpus: int = 2, loss: str = '"mse"', targets: str = "y", more: str = "", after: str = "") -> Any:
    """An old program that wraps what `build` builds, and one that only trains it in a scope; `after`: see B14."""
    old = TRAINED.format(rate="lr", loss=loss, targets=targets, more=more)
    new = TRAINED.format(rate="learning_rate", loss=loss, targets=targets, more=more)
    mirrored = f"strategy = tf.distribute.MirroredStrategy([f'/gpu:{{i}}' for i in range({gpus})])\n"
    scoped = "".join(f"    {line}\n" for line in ("model = build()", new.splitlines()[0]))
    return (
        {"train.py": f"{START}{build}model = multi_gpu_model(build(), gpus={gpus})\n{old}{after}"},
        {"train.py": todays(f"{START}{build}{mirrored}with strategy.scope():\n{scoped}{new.splitlines()[1]}\n{after}")},
    )


ROUNDS = """for number in range(2):
    {model}
    model.fit(x, y, batch_size=16, epochs=1, shuffle=False, verbose=0)
    {saved}
"""
OLD_ROUND = """template = build()
    if os.path.exists("start.h5"):
        template.load_weights("start.h5")
    model = multi_gpu_model(template, gpus=2)
    model.compile(SGD(lr=0.5), "mse")"""
NEW_ROUND = """with tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"]).scope():
        model = build()
        if os.path.exists("start.h5"):
            model.load_weights("start.h5")
        model.compile(SGD(learning_rate=0.5), "mse")"""
LOADS = (
    {"train.py": START + PLAIN + ROUNDS.format(model=OLD_ROUND, saved='template.save_weights("start.h5")')},
    {
        "train.py": todays(
            START + PLAIN + ROUNDS.format(model=NEW_ROUND, saved='model.save_weights("start.weights.h5")')
        )
    },
)
TWO_OUTPUTS = """def build():
    rows = Input((6,))
    return Model(rows, [Dense(1, activation="sigmoid", name=name)(rows) for name in "ab"])


labels = (y[:, 0] > 0.5).astype("float32")
"""
CLOSURE = """def build():
    rows = Input((6,))
    hidden = Dense(4, activation="tanh")(rows)
    return Model(rows, Dense(2)(Lambda(lambda h: h * K.mean(hidden))(hidden)))


"""
LOOP = """target = K.placeholder((None, 2))
loss = K.mean(K.square(model.output - target))
updates = SGD(0.1).get_updates(loss=loss, params=model.trainable_weights)
step = K.function(model.inputs + [target], [loss], updates=updates)
"""
HOLDS = """class Weighed(Loss):
    weight = None

    def call(self, y_true, y_pred):
        return K.mean(K.square(y_true - y_pred) * self.weight)

    def __call__(self, y_true, y_pred, sample_weight=None):
        return self.call(y_true, y_pred)


def build():
    rows = Input((6,))
    hidden = Dense(4, activation="tanh")(rows)
    Weighed.weight = Dense(2, activation="sigmoid")(hidden)
    return Model(rows, Dense(2)(hidden))


"""
OWN_STEP = """import numpy as np
import tensorflow as tf

random = np.random.RandomState(0)
x = random.rand(32, 6).astype("float32")
y = random.rand(32, 2).astype("float32")


class Net(tf.keras.Model):
    def train_step(self, data):
        rows, targets = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.abs(self(rows, training=True) - targets))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


def build():
    rows = tf.keras.Input((6,))
    return Net(rows, tf.keras.layers.Dense(2)(rows))


"""
FITTED = """model.compile(tf.keras.optimizers.SGD(0.1), "mse")
model.fit(x, y, batch_size=16, shuffle=False, verbose=0)
"""
OBEYED = (
    {"train.py": f"{OWN_STEP}model = tf.keras.utils.multi_gpu_model(build(), gpus=2)\n{FITTED}"},
    {
        "train.py": f"{OWN_STEP}with tf.distribute.MirroredStrategy(['/gpu:0', '/gpu:1']).scope():\n"
        f"    model = build()\n    {FITTED}"
    },
)
MXNET = (
    {
        "train.py": START
        + PLAIN
        + 'model = build()\nmodel.compile(SGD(lr=0.5), "mse", context=["gpu(0)", "gpu(1)"])\nmodel.fit(x, y)\n'
    },
    pair(PLAIN)[1],
)


@dataclass(frozen=True)
class Mistake:
    """One of the review's entries, as a pair of programs."""

    what: str
    verdict: str
    words: str
    """In the reason that verify() gives."""
    new: Files
    old: Files = field(default_factory=lambda: OLD_PROGRAM)
    more: Mapping[str, Any] = field(default_factory=dict)
    """Options."""


SMOKE = {"depth": "smoke"}
CLASS_WEIGHTS = ', class_weight={"a": {0: 1.0, 1: 3.0}, "b": {0: 1.0, 1: 3.0}}'
MISTAKES = {
    "B2": Mistake(
        "a class is deleted that another file imports",
        "DOES NOT RUN",
        "ImportError: cannot import name 'Parallel' from 'nets' (nets.py) (train.py:7)",
        wrong(("from nets import build", "from nets import Parallel, build")),
    ),
    "B3": Mistake(
        "the loop that sets memory growth takes a variable of the script's",
        "DOES NOT RUN",
        "Expecting a string device name. Got <class 'tensorflow.python.eager.context.PhysicalDevice'>",
        wrong(
            (GROW, f'gpu = "/gpu:1"\n{GROW.replace("physical ", "gpu ").replace("(physical", "(gpu")}'),
            ("model.fit(Batches()", "with tf.device(gpu):\n    print(tf.constant(1))\nmodel.fit(Batches()"),
        ),
    ),
    "B4": Mistake(
        "memory growth is set when the strategy has started the GPUs",
        "DOES NOT RUN",
        "RuntimeError: Physical devices cannot be modified after being initialized (train.py:",
        wrong((GROW, ""), ("validation = (", f"{GROW}validation = (")),
    ),
    "B5": Mistake(
        "a plain generator stays, for the model comes from a module out of sight",
        "DIFFERENT",
        "Keras 3 under a strategy skips batches of a plain Python generator (TFM402)",
        wrong(("model.fit(Batches(), shuffle=False", "model.fit(batches(), steps_per_epoch=5")),
    ),
    "B6": Mistake(
        "a callback saves layers[-(n + 1)], which is no model now",
        "DOES NOT RUN",
        "after 5 training steps: AttributeError: 'Dense' object has no attribute 'save_weights' (train.py:",
        wrong(("self.model.save_weights(", "self.model.layers[-(1 + 1)].save_weights(")),
    ),
    "B7": Mistake(
        "a file of weights gets another name, and the one who looks for it does not",
        "DIFFERENT",
        "the old model got its weights from a file, the new one did not",
        LOADS[1],
        LOADS[0],
    ),
    "B8": Mistake(
        "an import of * brought np",
        "DOES NOT RUN",
        "NameError: name 'np' is not defined (train.py:",
        wrong(("import numpy as np\n", "")),
    ),
    "B10": Mistake(
        "the replicas do not divide the first batch",
        "DOES NOT RUN",
        "Keras 3 under a strategy fails if the number of replicas does not divide the first batch",
        *reversed(pair(PLAIN, gpus=3)),
        more=SMOKE,
    ),
    "B11": Mistake(
        "a metric is logged under another name than the plateau's, which is put together from parts",
        "DIFFERENT",
        "ReduceLROnPlateau watches val_acc, which the new script does not log: it logs accuracy",
        wrong(('metrics=["acc"]', 'metrics=["accuracy"]')),
    ),
    "B12": Mistake(
        "class weights of a model with two outputs",
        "DOES NOT RUN",
        "`class_weight` is only supported for Models with a single output. (train.py:",
        *reversed(pair(TWO_OUTPUTS, loss='"mse"', targets="[labels, labels]", more=CLASS_WEIGHTS)),
        more=SMOKE,
    ),
    "B13": Mistake(
        "a Lambda that closes over a tensor of the model",
        "DOES NOT RUN",
        "; a symbolic tensor of the model (KerasTensor) was used where numbers are computed, as in a Lambda or a loss",
        *reversed(pair(CLOSURE)),
        more=SMOKE,
    ),
    "B14": Mistake(
        "a training loop of K.function and get_updates",
        "DOES NOT RUN",
        "has no attribute 'placeholder' (train.py:",
        *reversed(pair(PLAIN, after=LOOP)),
        more={"depth": "thorough"},
    ),
    "B15": Mistake(
        "a train_step that the parallel model did not use",
        "DIFFERENT",
        "the new script trains with its own Net.train_step(), which the old parallel model did not have",
        *reversed(OBEYED),
        more=SMOKE,
    ),
    "B16": Mistake(
        "the weight decay became the number of GPUs",
        "DOES NOT RUN",
        "TypeError: 'float' object cannot be interpreted as an integer (train.py:",
        wrong(("range(gpus)", "range(1e-4)")),
    ),
    "B17": Mistake(
        "a program for MXNet",
        "COULD NOT RUN",
        'Invalid argument "context" passed to K.function with TensorFlow backend',
        *reversed(MXNET),
        more={"replicas": 2, **SMOKE},
    ),
    "B19": Mistake(
        "a loss object that holds a tensor of the model",
        "DOES NOT RUN",
        "; a symbolic tensor of the model (KerasTensor) was used where numbers are computed, as in a Lambda or a loss",
        *reversed(pair(HOLDS, loss="Weighed()")),
        more=SMOKE,
    ),
}
ELSEWHERE = {
    "B1": ("an endless loop", "test_depths.py", "def test_a_script_that_hangs_before_its_first_step_does_not_run(")
}
"""What another test shows."""
NOTHING = {
    "B9": "one GPU is asked for by its name: where there is none, TensorFlow 2.21 trains on the CPU, as before",
    "B18": "workers= is lost: the same batches, loaded by fewer; so does the right migration below",
}
"""What neither changes the training nor stops the run."""


def test_every_entry_is_told_somewhere() -> None:
    told = [*MISTAKES, *ELSEWHERE, *NOTHING]
    assert sorted(told, key=lambda entry: int(entry[1:])) == [f"B{i}" for i in range(1, 20)]
    for _, file, words in ELSEWHERE.values():
        assert words in Path(__file__).with_name(file).read_text(encoding="utf-8")


Judge = Callable[..., Report]


@pytest.fixture(scope="module")
def judge(runtime_for: RuntimeFor, tmp_path_factory: pytest.TempPathFactory, launch: Launch) -> Judge:
    """Verifies on Keras 3, one run after the other."""
    once = Once(tmp_path_factory.mktemp("runs"), launch)
    new_python = runtime_for("keras 3").python
    for kind in ("genuine keras", "genuine tf.keras"):
        runtime_for(kind)

    def run(old: Files, new: Files, **options: Any) -> Report:
        folder = tmp_path_factory.mktemp("pair")
        for name, files in (("old", old), ("new", new)):
            (folder / name).mkdir()
            for file, text in files.items():
                (folder / name / file).write_text(text, encoding="utf-8")
        kind = "genuine keras" if "from keras" in old["train.py"] else "genuine tf.keras"
        asked = {"depth": "default", "old_python": runtime_for(kind).python, "new_python": new_python, **options}
        paths = folder / "old" / "train.py", folder / "new" / "train.py"
        return verify(VerifyOptions(*paths, seconds=300, jobs=1, kerases=(3,), **asked), execute=once)

    return run


@pytest.mark.runs_tensorflow
def test_the_right_migration_is_equivalent(judge: Judge) -> None:
    report = judge(OLD_PROGRAM, NEW_PROGRAM)
    assert report.headline == "EQUIVALENT", report.reason
    assert "outside the training" not in report.reason


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_told_and_its_cause_named(judge: Judge, mistake: Mistake) -> None:
    report = judge(mistake.old, mistake.new, **mistake.more)
    assert (report.verdict, mistake.words in report.reason) == (mistake.verdict, True), report.reason
    assert "unknown" not in report.reason
    assert report.exit_code != 0
