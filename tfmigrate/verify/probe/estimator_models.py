"""What stands in the place of a Keras model where an Estimator trains a graph: its variables and layers, and the
features that it reads."""

from . import facts, weights

DESCRIBED = frozenset(
    ["rate", "stddev", "cell", weights.CREATED]
    + [part + end for part in facts.REGULARIZED for end in ("_regularizer", "_constraint")]
)
"""Attributes of layers of Keras."""


def described_layers(model):
    """What the layers of a Keras model drop, and what penalises or bounds their weights, as layers without weights: the
    Estimator trains those of a copy."""
    found = []
    for layer in weights.leaf_layers(model):
        told = dict((key, part) for key, part in vars(layer).items() if key in DESCRIBED)
        told["weights"] = ()
        found.append(type(type(layer).__name__, (object,), told)())
    return found


class Layer(object):
    """All variables of a model function, as one layer."""

    def __init__(self, variables):
        self.weights = variables
        self.dtype = variables[0].dtype.base_dtype if variables else None


class Dropout(object):
    """One of the model function's, under the name that Keras's have."""

    weights = ()

    def __init__(self, rate):
        self.rate = rate


class Features(dict):
    """The features that a model function gets. The migrated script leaves out those that it does not read."""

    def __init__(self, *args, **kwargs):
        dict.__init__(self, *args, **kwargs)
        self.whole = dict(dict.items(self))
        self.read = set()

    def chosen(self):
        return {key: value for key, value in self.whole.items() if key in self.read}

    def __getitem__(self, key):
        self.read.add(key)
        return dict.__getitem__(self, key)

    def get(self, key, default=None):
        self.read.add(key)
        return dict.get(self, key, default)

    def pop(self, key, *default):
        self.read.add(key)
        return dict.pop(self, key, *default)

    def __iter__(self):  # for dict(features), which asks for no item where this is dict's own
        return dict.__iter__(self)

    def items(self):
        self.read.update(self.whole)
        return dict.items(self)

    def values(self):
        self.read.update(self.whole)
        return dict.values(self)

    def copy(self):
        self.read.update(self.whole)
        return dict.copy(self)


class GraphModel(object):
    """What the recorder asks of a model, answered for one Estimator."""

    metrics = ()

    def __init__(self, estimator):
        self.estimator = estimator
        self.name = "estimator"
        self.weights = []
        self.trainable_weights = []
        self.dropouts = []
        self.described = []

    @property
    def layers(self):
        return [Layer(self.weights)] + [Dropout(rate) for rate in self.dropouts] + self.described


class Flavour(object):
    is_keras3 = False

    def __init__(self, version):
        self.name = "tf.estimator"
        self.version = version


def name_of(variable):
    return variable.name.split(":")[0].split("/replica_")[0]


def parts_of(variable):
    """The copies of a mirrored variable, or the variable alone."""
    return list(getattr(variable, "_values", None) or (variable,))


def first(variable):
    return parts_of(variable)[0]
