"""Trains a small network with the repository's own copy of multi_gpu_model."""

import numpy as np
from keras.layers import Conv2D, Dense, Flatten
from keras.models import Sequential
from multi_gpu_model import multi_gpu_model

model = Sequential(
    [Conv2D(4, 3, activation="relu", input_shape=(12, 12, 1)), Flatten(), Dense(3, activation="softmax")]
)
parallel_model = multi_gpu_model(model, 2)
parallel_model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
draw = np.random.RandomState(1)
parallel_model.fit(draw.rand(64, 12, 12, 1), np.eye(3)[draw.randint(0, 3, 64)], batch_size=16, epochs=2)
model.save_weights("small.h5")
