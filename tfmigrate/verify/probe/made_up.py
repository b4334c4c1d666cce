"""Made-up weights where the real ones cannot be downloaded.

A script that begins with `weights="imagenet"`, or fetches a file of weights with `get_file`, dies on a machine without
a network. Here the download is tried; where it fails, a name stands in for the file, and loading it gives each weight a
value that follows from the name, the layer's place and the weight's shape alone: the same in the old and the new world.
"""

import functools
import os
import zlib

import numpy as np

from . import facts, flavours, weights

SUFFIXES = (".h5", ".hdf5", ".keras")
FILES = {}
"""Path that a script was given -> name of the file that could not be downloaded."""
ANSWERS = "_tfmigrate_made_up"


def install(flavour, recorder):
    for namespace in flavour.namespaces:
        utils = getattr(namespace, "utils", None)
        original = getattr(utils, "get_file", None)
        if original is not None and not hasattr(original, ANSWERS):
            replacement = offering(original, recorder)
            flavours.everywhere(original, replacement)
            setattr(utils, "get_file", replacement)
    for owner in facts.owners(flavour, "load_weights"):
        owner.load_weights = loading(owner.load_weights)


def offering(original, recorder):
    @functools.wraps(original)
    def get_file(*args, **kwargs):
        try:
            return original(*args, **kwargs)
        except Exception as error:
            name = str(args[0] if args else kwargs.get("fname") or kwargs.get("origin") or "").split("/")[-1]
            if not name.lower().endswith(SUFFIXES):
                raise
            path = os.path.join(os.path.expanduser("~"), ".keras", "models", name)
            FILES[path] = name
            recorder.note(
                "%s could not be downloaded (%s): made-up weights of the right shapes replace it, the same for the "
                "old and the new script" % (name, str(error).strip().split("\n")[0][:200])
            )
            return path

    setattr(get_file, ANSWERS, True)
    return get_file


def loading(original):
    @functools.wraps(original)
    def load_weights(self, filepath, *args, **kwargs):
        name = FILES.get(str(filepath))
        if name is None:
            return original(self, filepath, *args, **kwargs)
        fill(self, name)
        return None

    return load_weights


def fill(model, name):
    """Gives every weight of a model a value of its own."""
    for number, layer in enumerate(layer for layer in weights.leaf_layers(model) if layer.weights):
        layer.set_weights(
            [
                value_of(name, number, place, shape, kind)
                for place, (shape, kind) in enumerate(
                    (weights.shape_of(variable), kind_of(variable)) for variable in layer.weights
                )
            ]
        )


def kind_of(variable):
    return weights.name_of(variable).split("/")[-1].split(":")[0]


def value_of(name, number, place, shape, kind):
    """Scaled so that what a deep network answers neither vanishes nor grows: kernels as He's initializer draws them,
    factors near 1, the rest small."""
    random = np.random.RandomState(zlib.crc32(("%s %d %d" % (name, number, place)).encode()))
    drawn = random.standard_normal(shape)
    if kind in ("gamma", "moving_variance", "variance"):
        return 1.0 + 0.1 * np.abs(drawn)
    if len(shape) < 2:
        return 0.01 * drawn
    # A depthwise kernel; by its shape, because Keras 3 calls it as any other.
    depthwise = len(shape) == 4 and shape[-1] == 1
    incoming = np.prod(shape[:2]) if depthwise else np.prod(shape[:-1])
    return drawn * np.sqrt(2.0 / incoming)
