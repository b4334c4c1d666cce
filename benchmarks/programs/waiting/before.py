"""Waits where another program computes, so that a few processors show what many would: how much longer a whole
verification takes than its longest run."""

import sys
import time

import numpy as np
from tensorflow.keras.callbacks import Callback
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import multi_gpu_model


class Waiting(Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(1.0)


random = np.random.RandomState(0)
x, y = random.rand(512, 8).astype("float32"), random.rand(512, 1).astype("float32")

model = Sequential([Dense(16, activation="relu", input_shape=(8,)), Dense(1)])
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile("sgd", "mse")
parallel_model.fit(x, y, batch_size=64, epochs=int(sys.argv[1]), verbose=0, callbacks=[Waiting()])
