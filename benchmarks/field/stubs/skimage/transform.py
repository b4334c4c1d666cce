import numpy as np


def resize(array, output_shape, *arguments, preserve_range=False, **keywords):
    """The nearest pixel; of whole numbers in 0 to 1, unless the range is preserved."""
    array = np.asarray(array)
    rows = np.arange(output_shape[0]) * array.shape[0] // output_shape[0]
    columns = np.arange(output_shape[1]) * array.shape[1] // output_shape[1]
    found = array[rows][:, columns]
    if array.dtype == np.uint8 and not preserve_range:
        return found / 255.0
    return found.astype("float64")
