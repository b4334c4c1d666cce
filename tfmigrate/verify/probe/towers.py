"""On how many devices a script calls one model: a multi_gpu_model of its own is known by that, as ours is by its mark.

Old copies of the function, from before Keras had it, call the template once under each `tf.device('/gpu:%d')`.
"""

import functools
import re

from .genuine import REPLICAS

CALLED_ON = "_tfmigrate_called_on"
GPU = re.compile("gpu:([0-9]+)$", re.IGNORECASE)


def install(tf, found):
    entered = []
    tf.device = watched(tf.device, entered)
    for flavour in found:
        for layer_class in flavour.layer_classes:
            layer_class.__call__ = noting(layer_class.__call__, entered)


def watched(original, entered):
    @functools.wraps(original)
    def device(name, *args, **kwargs):
        return Device(original(name, *args, **kwargs), name, entered)

    return device


class Device(object):
    """What `tf.device` answers, which also says that it is entered."""

    def __init__(self, real, name, entered):
        self.real, self.name, self.entered = real, name, entered

    def __enter__(self):
        answer = self.real.__enter__()
        self.entered.append(self.name)
        return answer

    def __exit__(self, *error):
        self.entered.pop()
        return self.real.__exit__(*error)


def noting(original, entered):
    @functools.wraps(original)
    def __call__(self, *args, **kwargs):
        gpu = GPU.search(str(entered[-1])) if entered else None
        if gpu and getattr(self, "layers", None):
            if CALLED_ON not in self.__dict__:
                object.__setattr__(self, CALLED_ON, set())
            self.__dict__[CALLED_ON].add(int(gpu.group(1)))
        return original(self, *args, **kwargs)

    return __call__


def replicas_of(model):
    """The replicas of a model that no strategy spreads: the number that multi_gpu_model gave it or one that it is
    built on (a loss on top of a parallel model), or that of the GPUs on which it calls a model."""
    counts = [getattr(model, REPLICAS, 1)]
    for layer in getattr(model, "layers", None) or ():
        counts += [len(getattr(layer, CALLED_ON, ())), replicas_of(layer)]
    return max(counts)
