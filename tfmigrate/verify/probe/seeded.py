"""A run as it is written, under a seed: nothing is neutralised, and everything random follows from the seed.

A script that fixes its own seeds would train the same way each time, and its old and its new run each another way; so
what it asks for is mixed with the run's seed. Generators of its own (`RandomState(1)`, `seed=` of a layer) stay.
"""

import functools
import random

import numpy as np

from . import facts, shuffles, streams, weights

LARGEST = 2**31 - 1


def install(tf, found, seed):
    streams.seed_all(tf, seed)
    for owner, name in seeders(tf):
        setattr(owner, name, mixed(getattr(owner, name), seed))
    if hasattr(tf, "data"):
        shuffles.watch(still=False)
    for flavour in found:
        for layer_class in flavour.layer_classes:
            weights.stamp_layers(layer_class)
        facts.watch_loading(flavour)
        facts.watch_losses(flavour)


def seeders(tf):
    places = [
        (random, "seed"),
        (np.random, "seed"),
        (tf, "set_random_seed"),
        (tf.random, "set_seed"),
        (tf.random, "set_random_seed"),
    ]
    compat = getattr(getattr(tf, "compat", None), "v1", None)
    if compat is not None:
        places += [(compat, "set_random_seed"), (compat.random, "set_random_seed")]
    return [(owner, name) for owner, name in places if hasattr(owner, name)]


def mixed(original, seed):
    """Two calls with one value give one stream under one seed, and another under another."""

    @functools.wraps(original)
    def set_seed(value=None, *args, **kwargs):
        if value is None or isinstance(value, (int, np.integer)):
            value = (int(value or 0) * 7919 + seed) % LARGEST
        return original(value, *args, **kwargs)

    return set_seed
