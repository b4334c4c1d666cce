"""What arrays hold, in few bytes: equal content has an equal fingerprint, nearly equal a nearly equal sketch."""

import hashlib

import numpy as np

PERIOD = 16381
"""Prime, so that rows of no usual length meet the same stretch of the direction twice."""

DIRECTION = []


def fingerprint_of(arrays):
    """Equal batches have equal fingerprints: only the values as float32 count, in order; (n,) and (n, 1) are equal."""
    digest = hashlib.sha1()
    for array in arrays:
        if array.dtype.kind in "OSU":
            digest.update(repr(array.tolist()).encode("utf-8"))
        else:
            digest.update(np.ascontiguousarray(array, dtype=np.float32))
    return digest.hexdigest()[:16]


def sketch_of(arrays):
    """[norm, projection] of each array, on a fixed direction in which each element has a share.

    For batches that hold what a model predicted, such as the fakes of a GAN: two versions of TensorFlow round that
    differently, so the batches have other fingerprints and very nearly the same sketch.
    """
    found = []
    for array in arrays:
        if array.dtype.kind in "OSU":
            return None
        values = np.asarray(array, dtype=np.float64).ravel()
        # einsum, for the threads of a dot product would take the cores from TensorFlow's.
        square, shadow = np.einsum("i,i", values, values), np.einsum("i,i", values, direction(len(values)))
        found.append([float(np.sqrt(square)), float(shadow)])
    return found


def direction(length):
    """Numbers that look random and are the same everywhere; long ones repeat themselves."""
    if not DIRECTION:
        DIRECTION.append(np.random.RandomState(0).standard_normal(PERIOD))
    return np.resize(DIRECTION[0], length)
