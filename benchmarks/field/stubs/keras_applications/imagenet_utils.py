"""The shape of the input of a network, its pixels, and what it predicts."""

import numpy as np

MEAN, SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def _obtain_input_shape(input_shape, default_size, min_size, data_format, require_flatten, weights=None):
    if input_shape:
        return input_shape
    side = default_size if require_flatten else None
    return (3, side, side) if data_format == "channels_first" else (side, side, 3)


def preprocess_input(x, data_format=None, mode="caffe", **options):
    """Pixels between -1 and 1, or with the mean and spread of the "torch" mode."""
    return (x / 255 - MEAN) / SPREAD if mode == "torch" else x / 127.5 - 1


def decode_predictions(predictions, top=5, **options):
    return [[(str(number), str(number), row[number]) for number in np.argsort(row)[::-1][:top]] for row in predictions]
