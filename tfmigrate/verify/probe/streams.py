"""The random streams of Python, NumPy and Keras: a run's own seeds, and what draws from them apart."""

import contextlib
import functools
import itertools
import random
import threading

import numpy as np

from . import flavours

LOOKING = threading.local()
"""`at_item` is true in a thread while it makes an item of a Sequence."""


def seed_all(tf, seed):
    reseed(seed)
    seed_generators(seed)
    set_seed = getattr(tf.random, "set_seed", None) or tf.compat.v1.set_random_seed
    set_seed(seed)


def seed_generators(seed):
    """`np.random.default_rng()` and `np.random.seed(None)` draw from the system: they get a seed, each call another."""
    for owner, name in ((random, "seed"), (np.random, "seed"), (np.random, "default_rng")):
        if hasattr(owner, name):  # default_rng: from NumPy 1.17 on
            setattr(owner, name, _never_unseeded(getattr(owner, name), itertools.count(seed)))


def _never_unseeded(original, seeds):
    @functools.wraps(original)
    def seeded(*args, **kwargs):
        named = [key for key in ("seed", "a") if key in kwargs]
        if any(value is not None for value in args[:1] + tuple(kwargs[key] for key in named)):
            return original(*args, **kwargs)
        rest = {key: value for key, value in kwargs.items() if key not in named}
        return original(next(seeds), *args[1:], **rest)

    return seeded


def unless_at_item(original):
    """Seeds, but not while an item of a Sequence is made: keras_preprocessing seeds by how many it has made."""

    @functools.wraps(original)
    def seed(*args, **kwargs):
        return None if getattr(LOOKING, "at_item", False) else original(*args, **kwargs)

    return seed


def reseed(seed):
    """The streams a script and its generators draw from. Done again as each training call begins, because building a
    model draws from NumPy's stream in some versions of Keras and not in others."""
    random.seed(seed)
    np.random.seed(seed)


@contextlib.contextmanager
def reseeded(seed):
    """The streams begin at a seed inside, and go on behind it where they were."""
    states = random.getstate(), np.random.get_state()
    reseed(seed)
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])


def own_streams(found, seed):
    """Keras draws the seeds of its initializers from NumPy's or Python's stream: give it streams of its own, or the
    script's own draws would depend on the version of Keras."""
    for name in ("keras.src.random.seed_generator", "tf_keras.src.backend"):
        module = flavours.optional(name) if name.split(".")[0] in roots(found) else None
        for attribute in ("python_random", "random"):
            if module is not None and getattr(module, attribute, None) is random:
                setattr(module, attribute, random.Random(seed))
    # Orthogonal of standalone Keras draws the weights themselves.
    for name in ("keras.backend.tensorflow_backend", "keras.initializers", "tensorflow.python.keras.backend"):
        module = flavours.optional(name) if name.split(".")[0] in roots(found) else None
        if getattr(module, "np", None) is np:
            module.np = OwnRandom(seed)


def roots(found):
    return set(flavour.root.__name__.split(".")[0] for flavour in found) | set(
        "tensorflow" for flavour in found if flavour.name == "tf.keras" and not flavour.is_keras3
    )


class OwnRandom(object):
    """NumPy, but for `random`, which has a state of its own."""

    def __init__(self, seed):
        self.random = np.random.RandomState(seed)

    def __getattr__(self, name):
        return getattr(np, name)
