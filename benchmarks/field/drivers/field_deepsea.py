"""Trains the network on two GPUs, on made-up sequences."""

import numpy as np
from deepsea_keras.model import NUM_INPUT, NUM_OUTPUT, build_model, convert_to_multigpu

model = convert_to_multigpu(build_model(), gpus=2)
x = np.eye(4)[np.random.RandomState(1).randint(0, 4, (32, NUM_INPUT))]
y = np.random.RandomState(2).randint(0, 2, (32, NUM_OUTPUT))
model.fit(x, y, batch_size=8, epochs=1)
