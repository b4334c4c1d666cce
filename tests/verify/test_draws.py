"""What a script draws in its own model, and the dropout of every recurrent layer, are the same in every TensorFlow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tfmigrate.verify.judge.compare import compare
from tfmigrate.verify.run.runtimes import Runtime

from .worlds import Worlds

SCRIPT = """
import numpy as np
import tensorflow as tf
from KERAS import backend as K
from KERAS.layers import Bidirectional, ConvLSTM2D, Dense, Flatten, Input, Lambda, LSTM, Reshape, concatenate
from KERAS.models import Model
from KERAS.utils import multi_gpu_model


def noisy(x):
    wide = K.random_uniform((K.shape(x)[0], 1, 4), minval=0.5, maxval=1.5)
    return x * wide + K.random_normal(K.shape(x), stddev=0.3) * tf.random.normal([4])


def cut(x):
    return K.dropout(x, 0.25) + tf.nn.dropout(x, rate=0.5)


gate = {"recurrent_activation": "sigmoid"}
rows = Input((5, 9))
h = Bidirectional(LSTM(2, recurrent_dropout=0.2, dropout=0.1, return_sequences=True, **gate))(rows)
h = Lambda(cut)(Lambda(noisy)(h))
pictures = ConvLSTM2D(2, 2, dropout=0.3, **gate)(Reshape((5, 3, 3, 1))(rows))
both = concatenate([LSTM(3, **gate)(h), Flatten()(pictures)])
template = Model(rows, Dense(1, kernel_initializer="he_normal")(both))
parallel = multi_gpu_model(template, gpus=2)
parallel.compile("sgd", "mse")
random = np.random.RandomState(0)
parallel.fit(random.rand(50, 5, 9), random.rand(50, 1), batch_size=16, epochs=3, verbose=0)
"""


@pytest.mark.runs_tensorflow
@pytest.mark.parametrize("keras", ["keras", "tensorflow.keras"])
def test_two_versions_draw_the_same(keras: str, worlds: Worlds) -> None:
    text = SCRIPT.replace("KERAS", keras)
    standalone = keras == "keras"
    old = worlds.run(worlds.of("genuine keras" if standalone else "genuine tf.keras", text, shares_evenly=True))
    for name in ("restored keras 3", "restored keras 2"):
        run = worlds.run(worlds.of(name, text, shares_evenly=True, standalone=standalone), old)
        comparison = compare(old.trace, run.trace, 1e-5)
        assert comparison.max_relative_difference < 2e-6
        assert comparison.broken == ()
        assert sorted(run.trace.models[0].noise) == [
            "Bidirectional dropout 0.1",
            "Bidirectional recurrent_dropout 0.2",
            "ConvLSTM2D dropout 0.3",
        ]


PICTURES = """
import numpy as np
from keras.layers import Dense, Flatten
from keras.models import Sequential
from keras.preprocessing.image import ImageDataGenerator
from keras.utils import multi_gpu_model

template = Sequential([Flatten(input_shape=(4, 4, 1)), Dense(1, kernel_initializer="he_normal")])
parallel = multi_gpu_model(template, gpus=2)
parallel.compile("sgd", "mse")
flipping = ImageDataGenerator(horizontal_flip=True)


def batches():
    while True:
        yield np.stack([flipping.random_transform(np.arange(16.0).reshape(4, 4, 1)) * np.random.rand()
                        for _ in range(4)]), np.ones((4, 1))


parallel.fit_generator(batches(), steps_per_epoch=4, epochs=1, verbose=0)
"""


@pytest.mark.runs_tensorflow
def test_pictures_are_flipped_alike_however_many_numbers_that_takes(
    found_runtimes: tuple[Runtime, ...], worlds: Worlds
) -> None:
    """Keras 2.1.6 draws one number for a picture, for the flip that is asked for, and later Kerases two."""
    first = [runtime for runtime in found_runtimes if runtime.keras_version == (2, 1)]
    if not first:
        pytest.skip("no interpreter here has Keras 2.1; `tfmigrate runtimes --make tf1.15-keras2.1` builds one")
    old = worlds.run(replace(worlds.of("genuine keras", PICTURES), runtime=first[0]))
    new = worlds.run(worlds.of("restored keras 3", PICTURES), old)
    assert [step.fingerprint for step in new.trace.steps] == [step.fingerprint for step in old.trace.steps]
