"""Accuracy under both of its names in the logs of an epoch: `acc` up to Keras 2.2 and TensorFlow 1, `accuracy` since.

An old script asks for the one of its time (in its history, in the file name of a checkpoint), whatever version it runs
on; that its training was seen must not hang on a plot.
"""

import functools

from . import flavours

NEW, OLD = "accuracy", "acc"


def install(found):
    for flavour in found:
        module = flavours.optional("tensorflow.python.keras.callbacks")
        public = getattr(getattr(flavour.root, "callbacks", None), "CallbackList", None)
        for cls in set([public, getattr(module, "CallbackList", None) if flavour.name == "tf.keras" else None]):
            if cls is not None:
                cls.on_epoch_end = under_both_names(cls.on_epoch_end)


def under_both_names(original):
    @functools.wraps(original)
    def on_epoch_end(self, epoch, logs=None):
        return original(self, epoch, with_both(logs))

    return on_epoch_end


def with_both(logs):
    if not isinstance(logs, dict):
        return logs
    both = dict(logs)
    for name in logs:
        for known, other in ((NEW, OLD), (OLD, NEW)):
            if name == known or name.endswith("_" + known):
                both.setdefault(name[: len(name) - len(known)] + other, logs[name])
    return both
