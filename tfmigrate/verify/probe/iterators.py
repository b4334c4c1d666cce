"""Iterators of the script's own that make batches: each draws from streams that follow from its number.

A migrated script reads the first batches of an iterator before it trains, for the signature of a dataset; the old one
reads them as it trains, in turns with those for validation. Of one stream the two would draw other batches.
"""

import builtins
import functools
import os

from . import streams


def install(config):
    root = os.path.join(os.path.abspath(config.get("program") or os.path.dirname(config["script"])), "")
    builtins.next = seeding(builtins.next, root, config["seed"])


def seeding(original, root, seed):
    """`next` for iterators whose code lies below `root`; of others it is the original."""
    asked = {}  # by identity: not every iterator can be hashed, or referred to weakly

    @functools.wraps(original)
    def following(iterator, *default):
        if not code_of(iterator).startswith(root):
            return original(iterator, *default)
        known = asked.setdefault(id(iterator), [iterator, 0])
        number, known[1] = known[1], known[1] + 1
        with streams.reseeded(seed + number):
            return original(iterator, *default)

    return following


def code_of(iterator):
    """The file of what makes the next batch; "" where that is not written in Python."""
    code = getattr(iterator, "gi_code", None) or getattr(getattr(type(iterator), "__next__", None), "__code__", None)
    return getattr(code, "co_filename", "")


def numbered(iterator):
    """A generator that asks for each batch by `next`, as loops and TensorFlow do not."""
    while True:
        try:
            batch = next(iterator)
        except StopIteration:
            return
        yield batch
