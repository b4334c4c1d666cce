"""Dropout, noise added to each batch, a random half of the data: nothing about it is the same twice."""

import os

import keras
import numpy as np
from keras.layers import Dense, Dropout
from keras.models import Sequential
from keras.optimizers import SGD
from keras.utils import multi_gpu_model, to_categorical

digits = np.load(os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits.npz"))
chosen = np.random.permutation(1536)[:768]
x = digits["images"][chosen].reshape(-1, 64).astype("float32") / 16.0
y = to_categorical(digits["labels"][chosen], 10)


class Jittered(keras.utils.Sequence):
    def __len__(self):
        return len(x) // 64

    def __getitem__(self, index):
        part = slice(64 * index, 64 * index + 64)
        return x[part] + np.random.normal(0.0, 0.1, (64, 64)), y[part]


model = Sequential(
    [
        Dense(64, activation="relu", input_shape=(64,)),
        Dropout(0.3),
        Dense(10, activation="softmax"),
    ]
)
parallel_model = multi_gpu_model(model, gpus=2)
parallel_model.compile(optimizer=SGD(lr=0.2), loss="categorical_crossentropy")
parallel_model.fit_generator(Jittered(), epochs=3, verbose=0)
