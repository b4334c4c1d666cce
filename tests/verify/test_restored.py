"""What scripts of the time of multi_gpu_model took for granted is there in the restored world."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kit import check_migrated
from tfmigrate.verify.probe import restored_generators

from .worlds import Worlds, of_today

HABITS = """
import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.keras import backend as K
from tensorflow.python.keras.callbacks import Callback
from tensorflow.python.keras.layers import Activation, BatchNormalization, Dense, Input
from tensorflow.python.keras.models import Model
from keras.backend.tensorflow_backend import set_session
from tensorflow.keras.models import Input as AlsoInput
from tensorflow.python.keras.optimizers import RMSprop, SGD
from tensorflow.python.keras.utils import multi_gpu_model


set_session(tf.Session(config=tf.ConfigProto()))


class Slower(Callback):
    def on_epoch_begin(self, epoch, logs=None):
        K.set_value(self.model.optimizer.lr, 0.5 * K.get_value(self.model.optimizer.lr))


x = Input((4,))
template = Model(input=x, output=Activation("sigmoid")(Dense(1)(BatchNormalization()(x))))
template.compile("sgd", "binary_crossentropy", metrics=["accuracy"])
parallel = multi_gpu_model(template, gpus=2)
parallel.compile(RMSprop(lr=0.01, epsilon=1e-4), "binary_crossentropy", metrics=["accuracy"])
rows = np.random.RandomState(0).rand(64, 4).astype("float32")
classes = (rows.sum(1) > 2).astype("float32")
history = parallel.fit(rows, classes, batch_size=16, epochs=2, callbacks=[Slower()], class_weight="auto")
assert len(history.history["acc"]) == len(history.history["accuracy"]) == 2
again = RMSprop.from_config(parallel.optimizer.get_config())
assert again.get_config()["epsilon"] == parallel.optimizer.get_config()["epsilon"]
slowing = SGD(0.01, 0.9, 1e-6, True).get_config()
assert slowing["momentum"] == 0.9 and slowing["nesterov"] is True and not slowing.get("weight_decay")
assert slowing["learning_rate"] != 0.01, "a schedule"
def distance(y_true, y_pred):
    return tf.abs(y_true - y_pred)


template.compile("sgd", "mse", metrics=[distance])
template.evaluate(rows, rows[:, :1].astype("float64"), verbose=0)
template.compile("sgd", "logcosh", metrics=["kullback_leibler_divergence"])
assert len(template.evaluate(rows, rows[:, :1], verbose=0)) == 2
assert np.array([1], dtype=np.object)[0] == np.int(1) and np.float_ is np.float64
assert keras.initializers.normal is tf.keras.initializers.RandomNormal
keras.utils.print_summary(template, line_length=60)
assert K.control_flow_ops.cond is tf.cond
assert tf.to_float(1).dtype == tf.float32 == tf.log(1.0).dtype
tf.compat.v2.config.list_physical_devices = lambda kind=None: ["GPU"]
assert not getattr(keras.optimizers.SGD(), "jit_compile", False), "XLA on a GPU cannot update weights on the CPU"
"""

ATTRIBUTES = """
import keras
import tensorflow as tf
from keras.layers import *
from keras.models import Model
from keras.utils import multi_gpu_model


class Scaled(Layer):
    def build(self, input_shape):
        self.gamma = K.variable(np.ones((int(input_shape[-1]),)), name="gamma")
        self.trainable_weights = [self.gamma]

    def call(self, x):
        assert x.get_shape()[-1].value == 4
        return x * self.gamma


picture = Input((6, 6, 3))
x = Conv2D(4, 3, name="stage1/conv", strides=picture.shape[-1].value - 2)(picture)
x = Scaled(name="stage1/scale")(x)
features = Lambda(lambda t: tf.reshape(t, [-1, t.shape[1].value * 4 * 4]))(x)
base = Model(picture, Dense(2, name="top")(features), name="base")
assert K.placeholder(shape=(2,)).shape[0] == 2 and len(K.placeholder(ndim=2).shape) == 2
assert tuple(picture._keras_shape[1:]) == (6, 6, 3)
assert picture.shape.as_list() == picture.get_shape().as_list() == [None, 6, 6, 3]
assert picture.shape[1:].as_list() == [6, 6, 3]
assert picture.shape.ndims == 4
base.outputs = [base.get_layer("stage1/scale").output]
again = Input((6, 6, 3))
maps = base(again)
assert len(maps.shape) == 4, maps
model = Model(again, Dense(1)(Flatten()(maps)))
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
start = base.get_layer("stage1/scale").get_weights()[0]
parallel.fit(np.random.RandomState(0).rand(8, 6, 6, 3), np.ones((8, 1)), batch_size=4, verbose=0)
assert (base.get_layer("stage1/scale").get_weights()[0] != start).any(), "what is listed is trained"
"""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", [3, 2])
def test_habits_of_its_time(keras: int, worlds: Worlds) -> None:
    run = worlds.run(worlds.of(f"restored keras {keras}", HABITS))
    rates = [step.learning_rate for step in run.trace.steps]
    assert rates == pytest.approx([0.005] * 4 + [0.0025] * 4)
    (settings,) = (compiled.config for compiled in run.trace.compiles if compiled.optimizer.lower() == "rmsprop")
    assert settings["epsilon"] == pytest.approx(1e-8), "its square, under the root"


def test_a_generator_may_name_what_it_gives() -> None:
    inputs, targets = restored_generators.as_tuples(
        ({"one": np.ones(2), "pair": [np.zeros(1), np.ones(1)]}, [np.ones(3)])
    )
    assert sorted(inputs) == ["one", "pair"]
    assert isinstance(inputs["pair"], tuple)
    assert targets[0].shape == (3,)


CUDNN = """
import numpy as np
from keras.layers import CuDNNGRU, CuDNNLSTM, Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model

model = Sequential([CuDNNLSTM(3, input_shape=(5, 2), return_sequences=True), CuDNNGRU(2), Dense(1)])
assert [weights.shape for weights in model.get_weights()[3:6]] == [(3, 6), (2, 6), (2, 6)]
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
parallel.fit(np.ones((8, 5, 2)), np.ones((8, 1)), batch_size=4, verbose=0)
assert Sequential.from_config(model.get_config()).layers[0].units == 3
"""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", [3, 2])
def test_layers_of_cudnn_run_without_a_gpu(keras: int, worlds: Worlds) -> None:
    run = worlds.run(worlds.of(f"restored keras {keras}", CUDNN))
    assert any("CuDNNLSTM ran as LSTM" in note for note in run.trace.notes)


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", [3, 2])
def test_what_could_be_set_and_read(keras: int, worlds: Worlds) -> None:
    assert len(worlds.run(worlds.of(f"restored keras {keras}", ATTRIBUTES)).trace.steps) == 2


ADVERSARIES = """
import keras
import numpy as np
from keras.layers import Dense, Input
from keras.models import Model, Sequential
from keras.utils import multi_gpu_model

activation = keras.layers.advanced_activations.LeakyReLU(0.2)
judge = multi_gpu_model(Sequential([Dense(3, input_shape=(4,)), activation, Dense(1)]), gpus=2)
judge.compile("sgd", "mse")
judge.trainable = False
noise = Input((2,))
both = Model(noise, judge(Dense(4)(noise)))
both.compile("sgd", "mse")
for _ in range(2):
    before = judge.get_weights()
    judge.train_on_batch(np.ones((4, 4)), np.ones((4, 1)))
    between = judge.get_weights()
    both.train_on_batch(np.ones((4, 2)), np.zeros((4, 1)))
    assert any((a != b).any() for a, b in zip(before, between)), "it was compiled while it was trained"
    assert all((a == b).all() for a, b in zip(between, judge.get_weights())), "it is still in what is compiled later"
    assert judge.trainable is False
"""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", [3, 2])
def test_compile_decides_what_is_trained(keras: int, worlds: Worlds) -> None:
    judge, both = worlds.run(worlds.of(f"restored keras {keras}", ADVERSARIES)).trace.models
    assert [trained for _, _, trained in judge.weights] == [True] * 4
    assert sum(trained for _, _, trained in both.weights) == 2, "it is still in what is compiled later"


SHARED = """
import numpy as np
from keras import backend as K
from keras.callbacks import ModelCheckpoint
from keras.layers import Dense
from keras.models import Sequential
from keras.optimizers import Adam
from keras.utils import multi_gpu_model

optimizer = Adam(lr=0.05)
first = Sequential([Dense(3, input_shape=(4,)), Dense(1)])
models = [multi_gpu_model(one, gpus=2) for one in (first, Sequential([Dense(1, input_shape=(4,))]))]
first.layers[0].trainable = False
for model in models:
    model.compile(optimizer, "mse")
random = np.random.RandomState(0)
x, y = random.rand(8, 4), random.rand(8, 1)
for _ in range(3):
    for model in models:
        model.train_on_batch(x, y)
K.set_value(models[0].optimizer.lr, 0.01)
first.layers[0].trainable = True
models[0].compile(optimizer, "mse")
for _ in range(3):
    for model in models:
        model.train_on_batch(x, y)
each_epoch = ModelCheckpoint("{val_loss:.3f}.h5", "val_loss", 0, False, True, "auto", 1)
models[1].fit(x, y, batch_size=4, epochs=1, validation_data=(x, y), callbacks=[each_epoch])
"""


@pytest.mark.runs_tensorflow
def test_models_share_an_optimizers_count_and_rate_and_nothing_else(worlds: Worlds) -> None:
    genuine = worlds.run(worlds.of("genuine keras", SHARED))
    for keras in (3, 2):
        run = worlds.run(of_today(worlds, keras, SHARED), genuine)
        assert [step.loss for step in run.trace.steps] == pytest.approx(
            [step.loss for step in genuine.trace.steps], rel=1e-4
        )


FROZEN = """
import numpy as np
from keras.layers import Activation, BatchNormalization, Conv2D, Dense, Flatten
from keras.models import Sequential
from keras.utils import multi_gpu_model

layers = [Conv2D(3, 2, input_shape=(4, 4, 2)), BatchNormalization(), Activation("relu"), Flatten()]
model = Sequential(layers + [Dense(6), BatchNormalization(scale=False), Dense(1)])
for layer in model.layers[:6]:
    layer.trainable = False
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
random = np.random.RandomState(0)
x, y = 3 + random.rand(8, 4, 4, 2), random.rand(8)
parallel.fit(x, y, batch_size=4, epochs=2)
"""


@pytest.mark.runs_tensorflow
def test_a_frozen_batch_norm_goes_on_with_the_batch(worlds: Worlds) -> None:
    """Genuine, restored and migrated (TFM445) alike; by its moving averages the first loss is another one."""
    after = check_migrated(FROZEN).after
    averages = after.replace("if not training or", "if True or")
    genuine = worlds.run(worlds.of("genuine keras", FROZEN))
    expected = [step.loss for step in genuine.trace.steps]
    for keras in ("keras 3", "keras 2"):
        losses = {}
        for name, world in {
            "restored": worlds.of(f"restored {keras}", FROZEN, standalone=True),
            "migrated": worlds.of(f"migrated {keras}", after, "new.py"),
            "averages": worlds.of(f"migrated {keras}", averages, "averages.py"),
        }.items():
            losses[name] = [step.loss for step in worlds.run(world, genuine).trace.steps]
        assert losses["restored"] == pytest.approx(expected, rel=1e-5)
        assert losses["migrated"] == pytest.approx(expected, rel=1e-5)
        assert losses["averages"][0] != pytest.approx(expected[0], rel=0.1)


WATCHING = """
import glob
import numpy as np
import tensorflow as tf
from keras.callbacks import Callback, ModelCheckpoint, TensorBoard
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import multi_gpu_model


class Keep(ModelCheckpoint):
    kept = []

    def on_epoch_end(self, epoch, logs=None):
        self.epochs_since_last_save += 1
        if self.epochs_since_last_save >= self.period:
            self.epochs_since_last_save = 0
            if self.monitor_op(logs["loss"], self.best):
                self.best = logs["loss"]
                self.kept.append(epoch)


class Log(Callback):
    def on_epoch_end(self, epoch, logs=None):
        summary = tf.Summary()
        summary.value.add(simple_value=1.0, tag="seen")
        board.writer.add_summary(summary, epoch)


model = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
model.compile("sgd", "mse")
board = TensorBoard("logs", 0, 32, True, write_grads=False)
rows = np.random.RandomState(0).rand(64, 4)
model.fit(rows, rows[:, :1], epochs=4, verbose=0, callbacks=[board, Log(), Keep("{epoch}.h5", "loss", period=2)])
assert Keep.kept == [1, 3], Keep.kept
board.writer.close()
found = [
    (value.tag, event.step)
    for file in glob.glob("logs/events*")
    for event in tf.compat.v1.train.summary_iterator(file)
    for value in event.summary.value
]
assert [pair for pair in found if pair[0] == "seen"] == [("seen", epoch) for epoch in range(4)], found
"""


CALLED = """
from keras.layers import Add, Dense, Input
from keras.models import Model
from keras.utils import multi_gpu_model
import numpy as np

x = Input((4,))
shared = Dense(3)
first, second = shared(x), shared(x)
model = Model(x, Dense(1)(Add()([first, second])))
one, two = [layer for layer in model.layers if layer.name.startswith("dense")]
assert one.input_shape == (None, 4) and one.output_shape == (None, 3), one.output_shape
assert model.layers[0].input_shape == (None, 4), model.layers[0].input_shape
assert model.layers[2].input_shape == [(None, 3), (None, 3)], model.layers[2].input_shape
assert shared.get_output_at(0) is first and shared.get_output_at(1) is second
assert shared.get_output_shape_at(1) == (None, 3)
assert model.input_names == [model.layers[0].name], model.input_names
parallel = multi_gpu_model(model, gpus=2)
parallel.compile("sgd", "mse")
model._make_predict_function()
parallel.fit(np.ones((8, 4)), np.ones((8, 1)), verbose=0)
"""


NORMALISING = """
import keras.utils.conv_utils as imported
import numpy as np
from keras.layers import Dense
from keras.models import Sequential
from keras.utils import conv_utils, multi_gpu_model
from keras.utils.conv_utils import normalize_padding

assert conv_utils.normalize_tuple(2, 3, "size") == (2, 2, 2)
assert imported.normalize_tuple([1, 2], 2, "size") == (1, 2)
assert normalize_padding("SAME") == "same"
parallel = multi_gpu_model(Sequential([Dense(1, input_shape=(4,))]), gpus=2)
parallel.compile("sgd", "mse")
parallel.fit(np.ones((8, 4)), np.ones((8, 1)), verbose=0)
"""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize(
    ("script", "kerases"),
    [(WATCHING, (3, 2)), (CALLED, (3,)), (NORMALISING, (3, 2))],
    ids=["callbacks", "calls of layers", "arguments of layers"],
)
def test_what_a_script_asserts_of_old_keras_holds(script: str, kerases: tuple[int, ...], worlds: Worlds) -> None:
    for world in (worlds.of("genuine keras", script), *(of_today(worlds, keras, script) for keras in kerases)):
        worlds.run(world)


PENALISED = """
import numpy as np
from keras.layers import Dense, Input
from keras.models import Model
from keras.regularizers import l2
from keras.utils import multi_gpu_model

x = Input((4,))
model = Model(x, Dense(1)(Dense(3, kernel_regularizer=l2(0.1))(Dense(3)(x))))
parallel = multi_gpu_model(model, gpus=2)
for layer in model.layers:
    if isinstance(layer, Dense) and layer.units == 3 and layer.kernel_regularizer is None:
        layer.add_loss(l2(0.2)(layer.kernel))
rows = np.random.RandomState(0).rand(16, 4).astype("float32")
for frozen in (True, False):
    for layer in model.layers[:3]:
        layer.trainable = not frozen
    parallel.compile("sgd", "mse")
    parallel.fit(rows, rows[:, :1], batch_size=8, epochs=2, verbose=0, validation_data=(rows, rows[:, :1]))
"""


@pytest.mark.runs_tensorflow
def test_penalties_of_weights_count_also_where_they_are_frozen(worlds: Worlds) -> None:
    after = check_migrated(PENALISED).after
    genuine = worlds.run(worlds.of("genuine keras", PENALISED))
    for keras in (3, 2):
        for world in (of_today(worlds, keras, PENALISED), worlds.of(f"migrated keras {keras}", after, "new.py")):
            run = worlds.run(world, genuine)
            losses = ([step.loss for step in trace.steps] for trace in (run.trace, genuine.trace))
            assert next(losses) == pytest.approx(next(losses), rel=1e-5), world.role
            validated = ([epoch.logs["val_loss"] for epoch in trace.epochs] for trace in (run.trace, genuine.trace))
            assert next(validated) == pytest.approx(next(validated), rel=1e-5), world.role


UNDETERMINED = """
import os
import numpy as np
import tensorflow as tf
from tensorflow.python.framework.config import is_op_determinism_enabled
assert is_op_determinism_enabled() == (not os.environ.get("TF_CUDNN_DETERMINISTIC"))
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
tf.config.list_physical_devices = lambda kind=None: [type("Card", (), {"device_type": "GPU"})]
model.compile("sgd", "mse")
assert not getattr(model, "jit_compile", False), "with determinism it is not, so without it neither"
print("determinism:", is_op_determinism_enabled())
assert float(tf.timestamp()) > 1e9, "the clock is there with determinism too"
model.fit(np.ones((2, 1)), np.ones(2), batch_size=2, verbose=0)
"""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", [3, 2])
def test_without_determinism_nothing_is_compiled_either(keras: int, worlds: Worlds) -> None:
    told = []
    for deterministic in (True, False):
        run = worlds.run(worlds.of(f"migrated keras {keras}", UNDETERMINED, deterministic=deterministic))
        told.append(run.stdout_path.read_text().strip())
    assert told == ["determinism: True", "determinism: False"]
