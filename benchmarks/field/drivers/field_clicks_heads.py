"""Trains one of the networks on made-up pictures and a map of weights for each."""

import numpy as np
from MoNuSeg_Models1 import get_spagettiNet_singleHead_multiscale_residual_deep

model, parallel = get_spagettiNet_singleHead_multiscale_residual_deep((32, 32), "bce_dice")
draw = np.random.RandomState(1)
pictures, weights = draw.rand(8, 32, 32, 3), draw.rand(8, 32, 32, 1)
masks = draw.randint(0, 2, (8, 32, 32, 1)).astype("float32")
parallel.fit([pictures, weights], masks, batch_size=4, epochs=1)
