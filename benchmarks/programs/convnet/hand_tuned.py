"""The same, as one writes it for tf.distribute by hand: rows gathered batch by batch, as Keras does for arrays."""

import sys
import time

import numpy as np
import tensorflow as tf
from tensorflow.keras.callbacks import Callback
from tensorflow.keras.layers import Conv2D, Dense, GlobalAveragePooling2D, MaxPooling2D
from tensorflow.keras.models import Sequential

SAMPLES, BATCH, EPOCHS = 5120, 256, int(sys.argv[1])


class Clock(Callback):
    """Tells how fast the best epoch after the first was, which traces and allocates."""

    def on_train_begin(self, logs=None):
        self.seconds, self.processor = [], []
        print("training since %.3f" % time.time())

    def on_epoch_begin(self, epoch, logs=None):
        self.started = time.time(), time.process_time()

    def on_epoch_end(self, epoch, logs=None):
        self.seconds.append(time.time() - self.started[0])
        self.processor.append(time.process_time() - self.started[1])

    def on_train_end(self, logs=None):
        print("samples per second: %.0f" % (SAMPLES / min(self.seconds[1:])))
        print("processor milliseconds a step: %.4f" % (1e3 * BATCH / SAMPLES * min(self.processor[1:])))


random = np.random.RandomState(0)
x = random.rand(SAMPLES, 32, 32, 3).astype("float32")
y = random.randint(0, 10, SAMPLES)


def rows(indices):
    return tf.gather(images, indices), tf.gather(labels, indices)


with tf.device("/cpu:0"):
    images, labels = tf.constant(x), tf.constant(y)
dataset = tf.data.Dataset.range(SAMPLES).shuffle(SAMPLES).batch(BATCH, drop_remainder=True)
dataset = dataset.map(rows, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)

with tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"]).scope():
    model = Sequential(
        [
            Conv2D(16, 3, activation="relu", input_shape=(32, 32, 3)),
            MaxPooling2D(),
            Conv2D(32, 3, activation="relu"),
            GlobalAveragePooling2D(),
            Dense(10, activation="softmax"),
        ]
    )
    model.compile("sgd", "sparse_categorical_crossentropy")
model.fit(dataset, epochs=EPOCHS, verbose=0, callbacks=[Clock()])
