"""Old modules and names of Keras, put back where scripts look for them."""

import builtins
import importlib
import importlib.abc
import importlib.machinery
import sys
import types

import numpy as np

from . import flavours
from .restored_optimizers import OPTIMIZERS

HOMES = (
    "keras.utils",
    "tensorflow.keras.utils",
    "keras._tf_keras.keras.utils",
    "tf_keras.utils",
    "tensorflow.python.keras.utils",
)


def restore_names(tf, flavour, names):
    """Gives what was renamed its old name too, except for cuDNN's layers, for which cudnn.py has some that do as they
    did."""
    for old, new in sorted(names.items()):
        package, _, path = old.partition(".")
        if path.startswith("keras."):
            package, path = "keras", path[len("keras.") :]
        if package == "numpy":
            value = getattr(builtins, new, None) or flavours.at_path(np, new.partition(".")[2])
            if value is not None and "." not in path:
                vars(np).setdefault(path, value)
            continue
        value = flavours.at_path(tf, new.partition(".")[2])
        if value is None or "CuDNN" in path:
            continue
        for namespace in flavour.namespaces if package == "keras" else [tf] if package == "tensorflow" else []:
            put(namespace, path, value)


def put(owner, path, value):
    """Gives a dotted path a value, unless it has one; a module on the way that is gone is made."""
    *way, name = path.split(".")
    for part in way:
        if getattr(owner, part, None) is None:
            setattr(owner, part, types.ModuleType(part))
        owner = getattr(owner, part)
    if not hasattr(owner, name):
        setattr(owner, name, value)


class Renamed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """With the legacy Keras 2, `keras` and all under it are `tf_keras`, the very same modules."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname.split(".")[0] != "keras" or flavours.optional("tf_" + fullname) is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec):
        return sys.modules["tf_" + spec.name]

    def exec_module(self, module):
        pass


class Moved(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `keras.layers.core` and the like: a module with the names of where they live now."""

    PREFIXES = ("keras.", "tensorflow.keras.", "tensorflow.python.keras.")

    def __init__(self, home, moved):
        self.home, self.moved = home, moved  # old module path -> the modules that have its names now

    def find_spec(self, fullname, path=None, target=None):
        if self.old_path(fullname) is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def old_path(self, fullname):
        for prefix in self.PREFIXES:
            if fullname.startswith(prefix) and fullname[len(prefix) :] in self.moved:
                return fullname[len(prefix) :]
        return None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        homes = [importlib.import_module(self.home + "." + part) for part in self.moved[self.old_path(spec.name)]]
        for home in homes:
            for name in dir(home):
                if not name.startswith("__") and not hasattr(module, name):
                    setattr(module, name, getattr(home, name))
        module.__getattr__ = first_of(*homes)  # for what is restored there later, as set_session() is
        return module

    def exec_module(self, module):
        pass


def restore_modules(flavour, moved):
    legacy = flavour.name == "tf_keras"
    home = "tf_keras" if legacy else "keras._tf_keras.keras"
    if legacy:
        sys.meta_path.insert(0, Renamed())
        sys.modules["keras"] = flavour.root
    else:
        borrow(importlib.import_module(home))
    restore_private_paths(flavour, home)
    sys.meta_path.append(Moved(home, moved))
    for path in sorted(moved):  # `keras.layers.advanced_activations.PReLU`, where nothing imports that module
        for namespace in flavour.namespaces:
            put(namespace, path, importlib.import_module("keras." + path))
    for place in HOMES[:-1]:  # keras/models.py imported Input, and scripts took it from there
        module = flavours.optional(place.replace("utils", "models"))
        if module is not None:
            module.Input = flavour.root.layers.Input
    for name in ("layers", "models", "callbacks"):  # brought these by `from keras.layers import *`
        module = importlib.import_module("keras." + name)
        module.K, module.np = importlib.import_module("keras.backend"), np
    if "utils.np_utils" in moved:
        importlib.import_module("keras.utils").np_utils = importlib.import_module("keras.utils.np_utils")
    for name in OPTIMIZERS:
        for namespace in flavour.namespaces:
            if not hasattr(namespace.optimizers, name.lower()):
                setattr(namespace.optimizers, name.lower(), getattr(namespace.optimizers, name))


PRIVATE = "tensorflow.python.keras"
PRIVATE_PARTS = (
    "layers",
    "models",
    "optimizers",
    "callbacks",
    "utils",
    "backend",
    "losses",
    "metrics",
    "regularizers",
    "initializers",
    "constraints",
    "activations",
    "preprocessing",
    "preprocessing.image",
    "preprocessing.text",
    "preprocessing.sequence",
    "datasets",
    "applications",
)


def restore_private_paths(flavour, home):
    """Many scripts took Keras from `tensorflow.python.keras`. TensorFlow still has a rest of an old Keras there, which
    trains nothing that is known here; its modules answer with today's names first."""
    package = flavours.optional(PRIVATE)
    for part in PRIVATE_PARTS if package is not None else ():
        today, rest = flavours.optional(home + "." + part), flavours.optional(PRIVATE + "." + part)
        if today is None:
            continue
        module = types.ModuleType(PRIVATE + "." + part)
        module.__path__ = []
        module.__all__ = [name for name in dir(today) if not name.startswith("_")]
        module.__getattr__ = first_of(today, rest)
        sys.modules[module.__name__] = module
        above, _, name = part.rpartition(".")
        setattr(sys.modules[PRIVATE + "." + above] if above else package, name, module)
    for name in ("Input", "Model", "Sequential"):
        setattr(package, name, getattr(flavour.root, name))


def first_of(*modules):
    """Looked up on each access, so that functions that are replaced later are found too."""

    def look_up(name):
        for module in modules[:-1]:
            if hasattr(module, name):
                return getattr(module, name)
        return getattr(modules[-1], name)

    return look_up


def borrow(compatible):
    """Gives Keras the names that only `tf.keras` kept (backend functions, old preprocessing)."""
    for part in (
        "backend",
        "preprocessing.image",
        "preprocessing.text",
        "preprocessing.sequence",
        "utils",
        "losses",
        "callbacks",
    ):
        ours, theirs = flavours.optional("keras." + part), flavours.optional(compatible.__name__ + "." + part)
        if ours is None and theirs is not None and "." in part:
            sys.modules["keras." + part] = theirs
            setattr(importlib.import_module("keras.preprocessing"), part.split(".")[1], theirs)
            continue
        for name in dir(theirs) if theirs is not None else ():
            if not name.startswith("_") and not hasattr(ours, name):
                setattr(ours, name, getattr(theirs, name))
