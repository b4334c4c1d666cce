"""Trains a network of the library, its layers given by name, on two GPUs, with data of its own."""

import numpy as np
from DLWP.model.models import DLWPNeuralNet

fields = np.random.rand(32, 2, 8, 12).astype("float32")
network = DLWPNeuralNet(scaler_type=None, scale_targets=False)
layers = (
    ("Flatten", None, {"input_shape": (2, 8, 12)}),
    ("Dense", (24,), {"activation": "tanh"}),
    ("Dense", (192,), {}),
    ("Reshape", ((2, 8, 12),), None),
)
network.build_model(layers, gpus=2, loss="mse", optimizer="adam", metrics=["mae"])
network.fit(fields[:24], fields[:24] ** 2, batch_size=8, epochs=2, validation_data=(fields[24:], fields[24:] ** 2))
print(network.evaluate(fields[24:], fields[24:] ** 2, verbose=0))
network.base_model.save("weather.h5")
