"""Trains one network of the factory on made-up pictures, and two maps of clicks and one of weights for each."""

import numpy as np
from model_factory1 import getModel

model = getModel("Dense_MultiScale_UNet", "bce_dice", None, (32, 32))
draw = np.random.RandomState(1)
pictures, maps = draw.rand(8, 32, 32, 3), draw.rand(8, 32, 32, 3)
masks = draw.randint(0, 2, (8, 32, 32, 1)).astype("float32")
model.fit([pictures, maps], masks, batch_size=4, epochs=1)
