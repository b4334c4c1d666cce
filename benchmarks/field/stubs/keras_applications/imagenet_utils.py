"""The shape of the input of a network, and pixels between -1 and 1."""


def _obtain_input_shape(input_shape, default_size, min_size, data_format, require_flatten, weights=None):
    if input_shape:
        return input_shape
    side = default_size if require_flatten else None
    return (3, side, side) if data_format == "channels_first" else (side, side, 3)


def preprocess_input(x, **options):
    return x / 127.5 - 1
