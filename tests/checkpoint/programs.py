"""Trains a parallel model in an old TensorFlow and saves it; or loads a file into the plain model in today's.

Run as a script by both interpreters, so: Python 3.6 syntax and nothing from outside.

    programs.py train FLAVOUR FOLDER   writes whole.h5, weights.h5, plain.json and told.npz into FOLDER/PROGRAM
    programs.py load FLAVOUR FOLDER    prints for each FOLDER/PROGRAM/new*.h5 how far predictions are from told.npz
"""

import glob
import os
import sys

import numpy as np

REPLICAS = 2
SAMPLES = 24


def stack(keras):
    """Layers of equal shape, so that only their order tells them apart."""
    layers = keras.layers
    model = keras.models.Sequential()
    model.add(layers.Dense(6, activation="tanh", input_shape=(6,)))
    model.add(layers.Dense(6, activation="tanh"))
    model.add(layers.Dense(6, activation="tanh"))
    model.add(layers.Dense(2))
    return model, [(6,)], 1


def frozen(keras):
    """Frozen layers between others of their shape: the parallel model saves them behind those. All have names."""
    layers = keras.layers
    image = layers.Input(shape=(8, 8, 3), name="image")
    value = layers.Conv2D(3, 3, padding="same", trainable=False, name="first")(image)
    value = layers.BatchNormalization(name="norm")(value)
    value = layers.Conv2D(3, 3, padding="same", activation="relu", name="second")(value)
    value = layers.Conv2D(3, 3, padding="same", activation="relu", trainable=False, name="third")(value)
    value = layers.SeparableConv2D(4, 3, name="apart")(value)
    value = layers.BatchNormalization(scale=False, name="unscaled")(value)
    value = layers.Flatten()(value)
    return keras.models.Model(image, layers.Dense(2, name="last")(value)), [(8, 8, 3)], 1


def nested(keras):
    """Sub-models, one of them used twice, a model inside a model, a shared layer, two inputs and outputs."""
    layers, models = keras.layers, keras.models
    left, right = layers.Input(shape=(5,), name="left"), layers.Input(shape=(5,), name="right")
    inner = models.Sequential([layers.Dense(4, activation="tanh", input_shape=(5,)), layers.BatchNormalization()])
    entry = layers.Input(shape=(5,))
    encoder = models.Model(entry, layers.Dense(4, activation="tanh", name="code")(inner(entry)))
    shared = layers.Dense(4, activation="tanh", name="shared")
    one, two = shared(encoder(left)), shared(encoder(right))
    both = layers.concatenate([one, two])
    outputs = [layers.Dense(2, name="main")(both), layers.Dense(1, name="side")(one)]
    return models.Model([left, right], outputs), [(5,), (5,)], 2


def recurrent(keras):
    """Recurrent layers and wrappers, whose weights lie deeper."""
    layers = keras.layers
    words = layers.Input(shape=(7,), dtype="int32")
    value = layers.Embedding(10, 5)(words)
    value = layers.Bidirectional(layers.LSTM(4, return_sequences=True, recurrent_activation="sigmoid"))(value)
    value = layers.TimeDistributed(layers.Dense(5))(value)
    value = layers.GRU(4, return_sequences=True, recurrent_activation="sigmoid", reset_after=False)(value)
    value = layers.LSTM(3, recurrent_activation="sigmoid")(value)
    return keras.models.Model(words, layers.Dense(1)(value)), [(7,)], 1


PROGRAMS = {program.__name__: program for program in (stack, frozen, nested, recurrent)}


def flavour(name):
    if name == "keras":
        import keras

        return keras
    import tensorflow as tf

    return tf.keras


def patch_devices():
    """The old function trains on CPUs when only its device check is told otherwise."""
    import importlib

    short = [f"/gpu:{i}" for i in range(REPLICAS)] + ["/cpu:0"]
    full = ["/device:CPU:0"] + [f"/device:GPU:{i}" for i in range(REPLICAS)]
    for name, devices in (
        ("keras.utils.multi_gpu_utils", short),
        ("keras.utils.training_utils", short),
        ("tensorflow.python.keras.utils.multi_gpu_utils", full),
    ):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        if hasattr(module, "_get_available_devices"):
            module._get_available_devices = lambda devices=devices: devices


def data(shapes, whole_numbers):
    random = np.random.RandomState(0)
    if whole_numbers:
        return [random.randint(0, 10, (SAMPLES, *shape)).astype("int32") for shape in shapes]
    return [random.rand(*((SAMPLES, *shape))).astype("float32") for shape in shapes]


def as_list(value):
    return value if isinstance(value, list) else [value]


def train(keras, program, folder):
    model, shapes, outputs = PROGRAMS[program](keras)
    x = data(shapes, program == "recurrent")
    parallel = keras.utils.multi_gpu_model(model, gpus=REPLICAS)
    parallel.compile(loss="mse", optimizer="adam")
    random = np.random.RandomState(1)
    y = [random.rand(*((SAMPLES, *tuple(int(n) for n in out.shape[1:])))) for out in model.outputs]
    parallel.fit(x if len(x) > 1 else x[0], y if outputs > 1 else y[0], batch_size=8, epochs=3, verbose=0)
    parallel.save_weights(folder + "/weights.h5")
    parallel.save(folder + "/whole.h5")
    with open(folder + "/plain.json", "w") as file:
        file.write(model.to_json())
    np.savez(folder + "/told.npz", *as_list(model.predict(x if len(x) > 1 else x[0])))


def load(keras, program, path):
    told = np.load(os.path.dirname(path) + "/told.npz")
    model, shapes, _ = PROGRAMS[program](keras)
    x = data(shapes, program == "recurrent")
    if "by-name" in path:
        model.load_weights(path, by_name=True)
    else:
        model.load_weights(path)
    got = as_list(model.predict(x if len(x) > 1 else x[0], verbose=0))
    return max(np.abs(a - b).max() / max(1, np.abs(b).max()) for a, b in zip(got, (told[n] for n in told.files)))


if __name__ == "__main__":
    command, name, folder = sys.argv[1:]
    if command == "train":
        patch_devices()
    for program in sorted(PROGRAMS):
        place = os.path.join(folder, program)
        if command == "train":
            os.makedirs(place)
            train(flavour(name), program, place)
        else:
            for path in sorted(glob.glob(place + "/new*.h5")):
                print("difference", program, os.path.basename(path), load(flavour(name), program, path))
