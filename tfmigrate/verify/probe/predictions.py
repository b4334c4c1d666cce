"""What a model is given and predicts, in little: enough to hold two runs against one another, however much it is.

Of each array a few values, spread evenly, and sketches in which every value has a share: the norm, and the projection
on a fixed random direction, which other values and another order change alike.
"""

import numpy as np

from .content import as_table, direction, fingerprint_of, sketch_of

VALUES = 256
STRETCHES = 32
"""Of the rows, each with a sketch of its own."""

IN_FULL = 1000
"""So many calls; of later ones less is kept."""

SAMPLE = 1 << 14
"""Of the values that go in, so many at most are looked at."""


def arrays_of(value):
    """The arrays of a structure, in order; None where there is something else in it."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)) and any(hasattr(part, "shape") or isinstance(part, (list, tuple, dict))
                                                for part in value):
        parts = [arrays_of(part) for part in value]
        return None if any(part is None for part in parts) else [array for part in parts for array in part]
    if not isinstance(value, (list, tuple)) and not hasattr(value, "__array__"):
        return None
    try:
        array = np.asarray(value)
    except Exception:  # a tensor of a graph, a ragged one, whatever a script's own model takes and gives
        return None
    if array.dtype.name == "bfloat16":
        array = array.astype(np.float32)
    return [array] if array.dtype.kind in "biuf" and array.ndim else None


def summary(array, full):
    """Fields of the trace's Output."""
    rows = len(array)
    table = as_table(array)
    across, down = direction(table.shape[1]), direction(rows)
    edges = np.linspace(0, rows, min(rows, STRETCHES) + 1).astype(int)
    sketches, largest = [], [0.0]
    for first, last in zip(edges[:-1], edges[1:]):
        part = table[first:last].astype(np.float64)
        # einsum, for the threads of a dot product would take the cores from TensorFlow's.
        square, shadow = np.einsum("ij,ij", part, part), np.einsum("i,i", down[first:last], np.einsum(
            "ij,j->i", part, across))
        sketches.append([float(np.sqrt(square)), float(shadow)])
        if part.size:
            largest += [float(part.max()), -float(part.min())] if np.isfinite(square) else [float("nan")]
    if not full and sketches:
        norms, shadows = zip(*sketches)
        sketches = [[float(np.sqrt(np.einsum("i,i", norms, norms))), float(sum(shadows))]]
    return {
        "shape": list(array.shape),
        "largest": float(np.max(largest)),
        "values": sample(array, VALUES if full else VALUES // 16).astype(np.float64).tolist(),
        "sketches": sketches,
    }


def content(arrays):
    """(fingerprint, sketch) of what goes in, as a step has them, of a bounded sample."""
    leaves = [[sample(array, SAMPLE)] for array in arrays]
    return fingerprint_of(leaves), sketch_of(leaves)


def sample(array, count):
    """So many of the values, spread evenly from the first to the last."""
    if array.size <= count:
        return array.reshape(-1)
    return array.flat[np.linspace(0, array.size - 1, count).astype(int)]
