"""`layer.add_loss(l2(0.1)(layer.kernel))` on a finished model: a part of the graph in old Keras, a number today."""

import functools
import sys

from . import flavours
from .devices import LIBRARIES

WRAPPED = "_tfmigrate_wrapped"
"""On the layers of what multi_gpu_model has wrapped."""


def restore_penalties(flavour, forgets_late):
    """`forgets_late`: what is added once multi_gpu_model has wrapped the model counts for nothing (TFM407)."""
    known = {}
    for cls in flavours.classes(flavour, "regularizers", ["L1", "L2", "L1L2"]):
        cls.__call__ = remembering(cls.__call__, known)
    for cls in flavour.layer_classes:
        if "add_loss" in vars(cls):
            cls.add_loss = at_each_step(cls.add_loss, known, flavour.is_keras3, forgets_late)


def remembering(original, known):
    """Keeps what a script computes of a weight: its value, the regularizer and the weight, by the value's id."""

    @functools.wraps(original)
    def __call__(self, weight):
        value = original(self, weight)
        if (sys._getframe(1).f_globals.get("__name__") or "").split(".")[0] not in LIBRARIES:
            known[id(value)] = value, self, weight
        return value

    return __call__


def at_each_step(original, known, is_keras3, forgets_late):
    @functools.wraps(original)
    def add_loss(self, losses, *args, **kwargs):
        value, regularizer, weight = known.get(id(losses), (None, None, None))
        if value is None:
            return original(self, losses, *args, **kwargs)
        if forgets_late and getattr(self, WRAPPED, False):
            return None
        if is_keras3:
            weight.regularizer = regularizer
            return None
        return original(self, lambda: regularizer(weight))

    return add_loss


def mark_wrapped(model):
    for layer in model.layers:
        object.__setattr__(layer, WRAPPED, True)
        if getattr(layer, "layers", None):
            mark_wrapped(layer)
