"""Trains one of the networks of active learning on two GPUs, as its main program does for each query."""

import numpy as np
from models import train_mnist_model

images = np.random.rand(48, 28, 28, 1).astype("float32")
labels = np.eye(10)[np.random.randint(0, 10, 48)]
model = train_mnist_model(images[:32], labels[:32], images[32:], labels[32:], "best.hdf5", gpu=2)
print(model.predict(images[:4]).shape)
