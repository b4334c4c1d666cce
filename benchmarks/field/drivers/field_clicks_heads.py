"""Trains another network of the factory on made-up pictures and a map of weights for each."""

import numpy as np
from model_factory1 import getModel

model, parallel = getModel("spagetti-singleHead-multiscale-residual-deep", "bce_dice", None, (32, 32))
draw = np.random.RandomState(1)
pictures, weights = draw.rand(8, 32, 32, 3), draw.rand(8, 32, 32, 1)
masks = draw.randint(0, 2, (8, 32, 32, 1)).astype("float32")
parallel.fit([pictures, weights], masks, batch_size=4, epochs=1)
