"""Raises, one after the other, the errors that docs/errors.md explains, and prints each as `Type: message` in JSON.

Runs in an interpreter with TensorFlow 2.21 and Keras 3; see test_error_messages.
"""

import json
import os
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers, models

os.chdir(tempfile.mkdtemp())
(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
x, y = np.ones((8, 4), "float32"), np.ones((8, 1), "float32")
scopes = {"tf": tf, "keras": keras, "layers": layers, "models": models, "np": np, "strategy": strategy, "x": x, "y": y}
PROGRAMS = """
tf.keras.utils.multi_gpu_model
---
from keras.utils import multi_gpu_model
---
from tensorflow.keras.utils import multi_gpu_model
---
from keras.utils.training_utils import multi_gpu_model
---
with strategy.scope():
    m = net()
m.compile("adam", "mse")
m.fit(x, y, batch_size=4, verbose=0)
---
m = net()
with strategy.scope():
    m.compile("adam", "mse")
m.fit(x, y, batch_size=4, verbose=0)
---
with strategy.scope():
    m = net()
    m.compile("adam", "mse")
m.fit(x[:3], y[:3], batch_size=3, verbose=0)
---
shared = keras.optimizers.Adam()
for m in (net(), net()):
    m.compile(shared, "mse")
    m.train_on_batch(x, y)
---
with strategy.scope():
    keras.backend.clear_session()
---
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [])
---
tf.distribute.MirroredStrategy(tf.config.list_physical_devices("CPU"))
---
tf.distribute.MirroredStrategy([one.name for one in tf.config.list_physical_devices("CPU")])
---
with strategy.scope():
    m, optimizer = net(), keras.optimizers.Adam()
def step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(m(x))
    optimizer.apply_gradients(zip(tape.gradient(loss, m.trainable_variables), m.trainable_variables))
tf.function(lambda: strategy.run(step))()
---
keras.metrics.Mean().reset_states
---
strategy.experimental_run_v2
---
net().fit_generator
---
net().predict_classes
---
m = net()
m.compile("sgd", "mse")
m.fit(([x, y] for _ in range(2)), steps_per_epoch=1, verbose=0)
---
net().fit(x, y, workers=2)
---
net().fit(x, y, nb_epoch=2)
---
m = net()
m.compile("sgd", "mse")
m.fit(tf.data.Dataset.from_tensor_slices((x, y)).batch(2), validation_split=0.2, verbose=0)
---
keras.optimizers.Adam(lr=0.1)
---
keras.optimizers.Adam().lr
---
m = net()
m.compile("sgd", "mse", metrics=["accuracy"])
m.fit(x, y, verbose=0).history["acc"]
---
m = net()
m.compile(keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(0.1, 1, 0.9)), "mse")
m.fit(x, y, verbose=0, callbacks=[keras.callbacks.LearningRateScheduler(lambda epoch: 0.1)])
---
net().save_weights("w.h5")
---
keras.callbacks.ModelCheckpoint("best.hdf5")
---
net().save("folder")
---
keras.callbacks.ModelCheckpoint("best.keras", period=2)
---
m = net()
m.compile("sgd", "mse")
m.save("m.h5")
models.load_model("m.h5")
---
from keras.engine import Layer
---
from keras.layers.normalization import BatchNormalization
---
from keras.layers.merge import concatenate
---
import keras.backend.tensorflow_backend
---
from keras.layers import CuDNNLSTM
---
tf.Session
---
tf.ConfigProto
---
tf.get_default_graph
---
tf.placeholder
---
tf.contrib
---
keras.backend.get_session
---
keras.backend.set_learning_phase
---
data = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(x).batch(4))
with tf.Graph().as_default():
    iter(data)
---
tf.function(lambda v: 1 if v else 0, autograph=False)(tf.constant(True))
---
tf.function(lambda v: np.abs(v))(tf.constant(1.0))
---
np.array([[1, 2], [3]])
---
tf.reduce_mean(layers.Input((4,)))
---
layers.Input((4,)).get_shape()
---
layers.Layer().add_weight("kernel", shape=(1,))
---
layers.Dense(np.prod((2, 3)))
---
i = layers.Input((4,))
models.Model(input=i, output=layers.Dense(1)(i))
---
layers.Conv2D(8, 3, border_mode="same")
---
m = net()
m.compile("sgd", "logcosh")
m.train_on_batch(x, y)
---
m = net()
m.compile("sgd", "mse")
m.fit(x, {"other": y}, verbose=0)
---
i = layers.Input((4,))
m = models.Model(i, [layers.Dense(1)(i), layers.Dense(1)(i)])
m.compile("sgd", "mse", metrics=["mae"])
m.train_on_batch(x, [y, y])
---
net().input
---
layers.AveragePooling2D()
---
class Hook(keras.callbacks.Callback):
    def on_batch_end(self, batch, log):
        pass
m = net()
m.compile("sgd", "mse")
m.fit(x, y, verbose=0, callbacks=[Hook()])
---
with strategy.scope():
    m = net()
    m.compile("sgd", "mse")
m.fit(x, y > 0, batch_size=4, verbose=0)
---
np.int
"""


def net():
    return models.Sequential([layers.Input((4,)), layers.Dense(1)])


raised = []
for program in PROGRAMS.split("---\n"):
    try:
        exec(program, {**scopes, "net": net})
    except Exception as error:
        raised.append(f"{type(error).__name__}: {error}")
    else:
        raised.append(f"nothing: {program}")
print("RAISED " + json.dumps(raised))
