"""How far the batches of two runs lie apart, where they are not the same to the last bit.

np.tanh, np.exp and the mean of a float32 array end in other last digits in NumPy 1.18 and in 2.x, so the same script
has other data in an old and in today's interpreter. Such batches are compared value by value.
"""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tfmigrate.verify.judge.align import sketches_apart, steps_of_both
from tfmigrate.verify.run.trace import Fit, Step, Trace

ROUNDED = 4e-6
"""Relative; 32 units in the last place of a float32. Between NumPy 1.18, 1.19 and 2.4 np.tanh, np.exp, np.log and means
of float32 differ by up to 1.2e-7, a softmax by 1.9e-7, products of matrices by 4.5e-7 of the largest value in the
column (measured); what is made of those by a few times as much. A factor of 1.00001 is more."""

Values = npt.NDArray[np.float64]


def distance(old: Trace, new: Trace, a: Step, b: Step) -> float | None:
    """The largest difference of a value in the batches of two steps, relative to the largest value of its column (of a
    table) or of its array; 0 when they are the same to the last bit, infinite when they cannot be held against each
    other, None when one of them has no fingerprint."""
    if a.fingerprint is None or b.fingerprint is None:
        return None
    if a.fingerprint == b.fingerprint:
        return 0.0
    whole = sketches_apart(a, b)
    if a.values is None or b.values is None or math.isinf(whole):
        return whole
    sampled = _apart(_load(old.folder / a.values), _load(new.folder / b.values))
    return sampled if sampled > ROUNDED else max(sampled, whole)  # where every value has a share


def same(old: Trace, new: Trace, a: Step, b: Step, band: float) -> bool | None:
    """Whether two steps had the same batch but for rounding; where a model may have made it, it need only be as near as
    the losses must be (`band`)."""
    apart = distance(old, new, a, b)
    if apart is None:
        return None
    return apart <= (max(band, ROUNDED) if a.made and b.made else ROUNDED)


def changed_later(old: Trace, new: Trace) -> bool:
    """Whether a training on arrays had the same batches in its first epoch, and others later: something changes the
    arrays between epochs, as no library does. Keras from TensorFlow 2.0 on, and tf.data, keep the values that they were
    given first (measured with tf_keras 2.21 and Keras 3.15)."""
    on_arrays = {fit.index for fit in old.fits if fit.source == "arrays"}
    agreed: set[int] = set()
    for a, b in steps_of_both(old, new):
        if a.fit in on_arrays and same(old, new, a, b, ROUNDED) is False:
            return a.fit in agreed and a.epoch > 0
        if a.epoch == 0:
            agreed.add(a.fit)
    return False


def largest_rounding(old: Trace, new: Trace) -> tuple[float, int]:
    """(the largest difference that counts as rounding, in how many batches)."""
    sizes = (distance(old, new, a, b) for a, b in steps_of_both(old, new) if not a.made)
    rounded = [apart for apart in sizes if apart is not None and 0.0 < apart <= ROUNDED]
    return max(rounded, default=0.0), len(rounded)


def validated(old: Fit, new: Fit) -> float | None:
    """The relative distance of the rows that two training calls validate on, in whatever order; 0 when they are the
    same to the last bit, None when one was not recorded."""
    if old.validation_content is None or new.validation_content is None:
        return None
    if old.validation_content == new.validation_content:
        return 0.0
    a, b = old.validation_sketch, new.validation_sketch
    if a is None or b is None or len(a) != len(b) or old.validation_samples != new.validation_samples:
        return math.inf
    leaves = (len(a) + 1) // 4
    largest = [max(abs(x), abs(y)) for x, y in zip(a, b)]
    scales = []
    for i in range(leaves):
        squares, of_shadows = largest[3 * i], largest[3 * i + 2]
        scales += [squares, math.sqrt((old.validation_samples or 1) * of_shadows), of_shadows]
    scales += [math.sqrt(largest[3 * i + 2] * largest[3 * i + 5]) for i in range(leaves - 1)]
    return max((abs(x - y) / scale if scale else abs(x - y) for x, y, scale in zip(a, b, scales)), default=math.inf)


@lru_cache(maxsize=256)
def _load(path: Path) -> tuple[Values, ...]:
    try:
        with np.load(path) as stored:
            return tuple(np.asarray(stored[str(i)], dtype=np.float64) for i in range(len(stored.files)))
    except (OSError, ValueError, KeyError):
        return ()


def _apart(old: tuple[Values, ...], new: tuple[Values, ...]) -> float:
    if not old or [array.shape for array in old] != [array.shape for array in new]:
        return math.inf
    return max(map(_array_apart, old, new))


def _array_apart(old: Values, new: Values) -> float:
    """0 where both have no number."""
    both = np.isnan(old) & np.isnan(new)
    old, new = np.where(both, 0.0, old), np.where(both, 0.0, new)
    apart = np.abs(old - new)
    if not np.isfinite(apart).all():
        return math.inf
    # The columns of a table have sizes of their own; the points of a picture have one.
    largest = np.abs(old).max(axis=0 if old.ndim == 2 else None, initial=0.0)
    scale = np.broadcast_to(np.where(largest > 0.0, largest, 1.0), apart.shape)
    return float((apart / scale).max(initial=0.0))
