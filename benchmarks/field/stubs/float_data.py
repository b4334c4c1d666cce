"""Random pictures and text for the benchmark models, as floats: theirs are integers, which Python 3 does not divide in
place."""

import numpy as np


def generate_img_input_data(input_shape, num_classes=10):
    x = np.random.randint(0, 255, input_shape).astype("float64")
    return x, np.random.randint(0, num_classes, (input_shape[0],))


def generate_text_input_data(input_shape):
    x = np.random.choice([True, False], input_shape)
    return x, np.random.choice([True, False], (input_shape[0], input_shape[2]))
