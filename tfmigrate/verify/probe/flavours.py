"""The Kerases in this interpreter: standalone keras, tf.keras, tf_keras, Keras 3."""

import functools
import importlib
import inspect
import os
import sys


class Flavour(object):
    """One Keras. `trainers` are (class that has fit, True if it trains in a TensorFlow 1 graph)."""

    def __init__(self, name, version, root, trainers, layer_classes, namespaces):
        self.name = name
        self.version = version
        self.root = root
        self.trainers = trainers
        self.layer_classes = layer_classes
        self.namespaces = namespaces
        """Public modules like `keras` and `tf.keras` that the script may reach it by."""

    @property
    def is_keras3(self):
        return self.version.split(".")[0] == "3"


def find(tf):
    """All Kerases a script may train with here.

    Raises ImportError when the interpreter has TensorFlow without any Keras that the probe knows.
    """
    major = int(tf.__version__.split(".")[0])
    flavours = []
    standalone = optional("keras") if not legacy_keras() else None
    if standalone is not None and standalone.__version__.split(".")[0] == "2":
        flavours.append(keras_2_standalone(standalone))
    if standalone is not None and standalone.__version__.split(".")[0] == "3":
        flavours.append(keras_3(tf, standalone))
    elif legacy_keras() and minor(tf.__version__) >= (2, 16):
        flavours.append(keras_2(tf, importlib.import_module("tf_keras"), "tf_keras", "tf_keras.src"))
    else:
        flavours.append(keras_2(tf, tf.keras, "tf.keras", "tensorflow.python.keras", graph=major == 1))
    return flavours


def minor(version):
    """"2.16.1" as (2, 16)."""
    return tuple(int(part) for part in version.split(".")[:2])


def legacy_keras():
    return os.environ.get("TF_USE_LEGACY_KERAS", "").lower() in ("1", "true")


def keras_2_standalone(keras):
    training = importlib.import_module("keras.engine.training")
    base_layer = optional("keras.engine.base_layer") or importlib.import_module("keras.engine.topology")
    return Flavour("keras", keras.__version__, keras, [(training.Model, True)], [base_layer.Layer], [keras])


def keras_2(tf, root, name, package, graph=False):
    training = importlib.import_module(package + ".engine.training")
    base_layer = importlib.import_module(package + ".engine.base_layer")
    trainers, layers = [(training.Model, graph)], [base_layer.Layer]
    training_v1 = optional(package + ".engine.training_v1")
    if training_v1 is not None:
        trainers.append((training_v1.Model, True))
    base_layer_v1 = optional(package + ".engine.base_layer_v1")
    if base_layer_v1 is not None:
        layers.append(base_layer_v1.Layer)
    namespaces = unique([root, tf.keras, tf.compat.v1.keras])
    return Flavour(name, root.__version__, root, trainers, layers, namespaces)


def keras_3(tf, keras):
    trainer = importlib.import_module("keras.src.backend.tensorflow.trainer")
    layer = importlib.import_module("keras.src.layers.layer")
    namespaces = unique([keras, tf.keras])
    trainers = [(trainer.TensorFlowTrainer, False)]
    return Flavour("tf.keras", keras.__version__, keras, trainers, [layer.Layer], namespaces)


def optional(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def at_path(owner, path):
    """What stands at a dotted path; None where nothing does."""
    for part in path.split("."):
        owner = getattr(owner, part, None)
    return owner


def unique(modules):
    seen = []
    for module in modules:
        if not any(module is other for other in seen):
            seen.append(module)
    return seen


def classes(flavour, part, names):
    """The distinct classes of these names in `layers`, `optimizers`, ... under any public name of this Keras."""
    modules = []
    for namespace in flavour.namespaces:
        module = getattr(namespace, part, None)
        for name in names:
            value = getattr(module, name, None)
            if isinstance(value, type) and value not in modules:
                modules.append(value)
    return modules


def everywhere(original, replacement):
    """Puts a replacement wherever a loaded module holds the original under the same name."""
    name = original.__name__
    for module in list(sys.modules.values()):
        try:
            if vars(module).get(name) is original:
                setattr(module, name, replacement)
        except (TypeError, AttributeError):
            continue


def standing_for(original):
    """functools.wraps that `inspect.getfullargspec` believes too; Keras 3 reads constructors with it."""

    def wrap(replacement):
        replacement = functools.wraps(original)(replacement)
        replacement.__signature__ = inspect.signature(original)
        return replacement

    return wrap
