"""What arrays hold, in few bytes: equal content has an equal fingerprint, nearly equal a nearly equal sketch."""

import hashlib
import zlib

import numpy as np

PERIOD = 16381
"""Prime, so that rows of no usual length meet the same stretch of the direction twice."""

DIRECTION = []
FACTORS = [np.zeros(0, np.uint64)]


def fingerprint_of(leaves):
    """Equal batches have equal fingerprints: only the values as float32 count, row by row in order; (n,) and (n, 1) are
    equal. `leaves` are the inputs and targets, each as a list of the parts that the replicas have of it."""
    return fingerprint([[row_hashes(part) for part in parts] for parts in leaves])


def fingerprint(hashes):
    """Of leaves whose parts are hashed already, while the step that trains on them went on."""
    digest = hashlib.sha1()
    for parts in hashes:
        for part in parts:
            digest.update(part)
    return digest.hexdigest()[:16]


def row_hashes(array):
    """What stands for each row: of numbers a multilinear hash of 64 bits, the sum of its words, each times an odd
    factor of its own, modulo 2 ** 64. It costs a fifth of SHA-1 on all values."""
    if array.dtype.kind in "OSU":
        return texts_of(array)
    rows = as_table(np.ascontiguousarray(np.atleast_1d(array), dtype=np.float32))
    words = rows.view(np.uint64) if rows.shape[1] % 2 == 0 else rows.view(np.uint32).astype(np.uint64)
    return np.einsum("ij,j->i", words, factors(words.shape[1]))


def as_table(array):
    """A row for each sample, of which a replica may have none: NumPy infers no width from nothing."""
    return array.reshape((len(array), int(np.prod(array.shape[1:]))))


def rows_anyhow(leaves):
    """A number for the rows of a batch, or of several when they are added up modulo 2 ** 64: the same in whatever order
    and in whatever parts they come. `leaves` are the inputs and targets, each an array with a row of each sample."""
    total = np.zeros(1, np.uint64)
    for array in leaves:
        array = np.atleast_1d(array)
        if array.dtype.kind in "OSU":
            rows = as_table(array).tolist()
            hashes = np.array([zlib.crc32(repr(row).encode("utf-8")) for row in rows], np.uint64)
        else:
            hashes = row_hashes(array)
        total = mixed(total) + hashes
    return int(np.add.reduce(mixed(total)))


def mixed(words):
    """Each word's bits over all the others, so that a sum of rows knows which target stood beside which input."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def texts_of(array):
    """Row by row, so that it says nothing of where one replica's part ends and the next begins."""
    return b"".join(repr(row).encode("utf-8") + b"\n" for row in np.atleast_1d(array).tolist())


def factors(count):
    """The same odd numbers everywhere, at least `count` of them: fewer are the beginning of more."""
    if len(FACTORS[0]) < count:
        drawn = np.random.RandomState(0).randint(0, 2**63 - 1, count, dtype=np.int64)
        odd = drawn.astype(np.uint64) * np.uint64(2) + np.uint64(1)
        FACTORS[0] = odd  # another replica may put its own there meanwhile
        return odd
    return FACTORS[0][:count]


def sketch_of(leaves):
    """[norm, projection] of each leaf, on a fixed direction in which each element has a share.

    For batches whose fingerprints differ because two versions of a library round differently: what a model predicted
    (the fakes of a GAN), or np.tanh of NumPy 1.18 and 2.x. Their sketches are very nearly the same.
    """
    rows = []
    for parts in leaves:
        if parts[0].dtype.kind in "OSU":
            return None
        values = np.concatenate([np.asarray(part, dtype=np.float64).ravel() for part in parts])
        # einsum, for the threads of a dot product would take the cores from TensorFlow's.
        square = np.einsum("i,i", values, values)
        whole = len(values) // PERIOD * PERIOD  # in stretches, for the direction repeats itself
        shadow = np.einsum("ij,j->", values[:whole].reshape((-1, PERIOD)), direction(PERIOD))
        shadow += np.einsum("i,i", values[whole:], direction(len(values) - whole))
        rows.append([float(np.sqrt(square)), float(shadow)])
    return rows


SAMPLE = 1 << 14
"""Of the values of an array, so many at most are kept."""


def values_of(leaves):
    """Of each leaf some whole rows, spread evenly over the batch, of rows longer than SAMPLE some values: enough to say
    by how much two batches differ that are not the same to the last bit. None where a leaf holds texts."""
    samples = []
    for parts in leaves:
        if any(part.dtype.kind in "OSU" for part in parts):
            return None
        rows = np.concatenate([np.atleast_1d(part) for part in parts])
        rows = rows.reshape((-1, 1)) if rows.ndim == 1 else rows
        width = int(np.prod(rows.shape[1:])) or 1
        chosen = rows[evenly(len(rows), max(1, SAMPLE // width))]
        if width > SAMPLE:
            chosen = as_table(chosen)[:, evenly(width, SAMPLE)][:, :, np.newaxis]  # no table
        samples.append(chosen.astype(np.float32))
    return samples


def evenly(length, count):
    return np.arange(length) if length <= count else np.linspace(0, length - 1, count).astype(int)


def rows_sketch(leaves):
    """What rows hold, in numbers that are added up over batches and parts, whatever their order: of each leaf the sum
    of the squares and, of the rows' projections, sum and sum of squares; then how each leaf goes with the next one.
    None where a leaf holds texts. For rows that two versions of a library round differently."""
    found, shadows = [], []
    for array in leaves:
        array = np.atleast_1d(array)
        if array.dtype.kind in "OSU":
            return None
        rows = as_table(np.asarray(array, dtype=np.float64))
        shadow = np.einsum("ij,j->i", rows, direction(rows.shape[1]))
        found += [np.einsum("ij,ij", rows, rows), shadow.sum(), np.einsum("i,i", shadow, shadow)]
        shadows.append(shadow)
    found += [np.einsum("i,i", a, b) for a, b in zip(shadows, shadows[1:])]
    return [float(number) for number in found]


def added(first, second):
    """Two sketches of rows as one; None where there is none of one of them, or they are of other leaves."""
    if first is None or second is None or len(first) != len(second):
        return None
    return [a + b for a, b in zip(first, second)]


def direction(length):
    """Numbers that look random and are the same everywhere; long ones repeat themselves."""
    if not DIRECTION:
        DIRECTION.append(np.random.RandomState(0).standard_normal(PERIOD))
    return np.resize(DIRECTION[0], length)
