"""A small dense network: each step takes a millisecond or two, so that the input pipeline shows."""

import sys
import time

import numpy as np
from tensorflow.keras.callbacks import Callback
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model

SAMPLES, BATCH, EPOCHS = 25600, 256, int(sys.argv[1])


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
x = random.rand(SAMPLES, 784).astype("float32")
y = random.randint(0, 10, SAMPLES)

model = Sequential([Dense(128, activation="relu", input_shape=(784,)), Dense(10, activation="softmax")])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile("sgd", "sparse_categorical_crossentropy")
parallel_model.fit(x, y, batch_size=BATCH, epochs=EPOCHS, verbose=0, callbacks=[Clock()])
