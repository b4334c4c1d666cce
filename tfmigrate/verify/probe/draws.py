"""Random numbers that a script's own code draws in a model: the same ones at every call, in every world.

K.random_normal() in the Lambda layer of an autoencoder, K.random_uniform() between real and fake pictures,
tf.nn.dropout(): two versions of TensorFlow draw other numbers from one seed, so that right runs would part at the first
step. Here each call answers with numbers from a fixed table, of the spread that the script asks for, which its losses
then show. What Keras and TensorFlow themselves draw by these names (first weights, for one) is left to them.
"""

import functools
import inspect
import sys

import numpy as np

from . import flavours

PERIOD = 16381
LIBRARIES = frozenset(["keras", "tf_keras", "tensorflow", "tensorflow_core"])
NAMES = {
    "normal": ("random_normal", "random.normal"),
    "truncated": ("truncated_normal", "random.truncated_normal"),
    "uniform": ("random_uniform", "random.uniform"),
    "bernoulli": ("random_binomial", "random_bernoulli"),
    "dropout": ("dropout", "nn.dropout", "random.dropout"),
}
TABLES = {}


def install(tf, found, dropouts):
    """`dropouts`: records each dropout; see Dropouts."""
    draws = dict(DRAWS, dropout=dropouts.draw)
    homes = [tf, getattr(getattr(tf, "compat", None), "v1", None)]
    for flavour in found:
        for namespace in flavour.namespaces:
            homes += [namespace if flavour.is_keras3 else None, getattr(namespace, "backend", None)]
    for name in ("tensorflow.keras.backend", "tensorflow.python.keras.backend"):
        homes.append(flavours.optional(name))
    done = []
    for home in homes:
        for kind in sorted(NAMES):
            for path in NAMES[kind]:
                replace(tf, home, path, draws[kind], done)


def replace(tf, home, path, draw, done):
    owner, _, name = path.rpartition(".")
    module = getattr(home, owner, None) if owner else home
    original = getattr(module, name, None)
    if not callable(original) or any(original is other for other in done):
        return
    replacement = drawing(tf, original, draw)
    done.append(replacement)
    setattr(module, name, replacement)


def drawing(tf, original, draw):
    @functools.wraps(original)
    def drawn(*args, **kwargs):
        if asked_by_library(sys._getframe(1)):
            return original(*args, **kwargs)
        asked = draw(tf, named(original, args, kwargs))
        return original(*args, **kwargs) if asked is None else asked

    autograph = getattr(getattr(tf, "autograph", None), "experimental", None)
    outside = getattr(autograph, "do_not_convert", None)
    return functools.wraps(original)(outside(drawn)) if outside is not None else drawn


def asked_by_library(frame):
    """Whether code of Keras or TensorFlow calls; what lies between the script's code and a call where autograph has
    converted it does not count, nor the decorators of this module."""
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if not name.startswith(("tensorflow.python.autograph", "tensorflow_core.python.autograph", "functools")):
            if name != __name__ and ".util." not in name:
                return name.split(".")[0] in LIBRARIES
        frame = frame.f_back
    return False


def named(original, args, kwargs):
    """The arguments by name, as far as the function tells them."""
    try:
        bound = inspect.signature(original).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return None
    arguments = {name: one.default for name, one in bound.signature.parameters.items() if one.default is not one.empty}
    arguments.update(bound.arguments)
    return arguments


# Each answers None where it cannot serve: then the function itself draws, and the losses may part.


def normal(tf, given, truncated=False):
    mean, spread = (given or {}).get("mean", 0.0), (given or {}).get("stddev", 1.0)
    table = table_of("truncated" if truncated else "normal")
    return from_table(tf, table, given, lambda value, cast: value * cast(spread) + cast(mean))


def truncated(tf, given):
    return normal(tf, given, truncated=True)


def uniform(tf, given):
    low, high = (given or {}).get("minval", 0.0), (given or {}).get("maxval", 1.0)
    if dtype_of(tf, given) is None or not dtype_of(tf, given).is_floating:  # whole numbers pick rows, not noise
        return None
    high = 1.0 if high is None else high
    return from_table(tf, table_of("uniform"), given, lambda value, cast: value * (cast(high) - cast(low)) + cast(low))


def bernoulli(tf, given):
    p = (given or {}).get("p", 0.0)
    return from_table(tf, table_of("uniform"), given, lambda value, cast: tf.cast(value < cast(p), value.dtype))


class Dropouts(object):
    """The dropouts that a script's own code asks for."""

    def __init__(self):
        self.asked = set()
        """As "dropout 0.5"."""
        self.in_model_function = None
        """While a model function of an Estimator is called to train: what is told the rate of each dropout in it."""

    def draw(self, tf, given):
        """Keeps 1 - rate of the values, the same of each row."""
        if given is None:
            return None
        x = next((given[name] for name in ("x", "inputs") if name in given), None)
        rate = rate_of(given)
        drops = isinstance(rate, (int, float)) and rate
        if self.in_model_function is not None and x is not None and rate is not None:
            # Keras has a layer there, which passes on what it gets as all such layers do here.
            if drops:
                self.in_model_function(rate)
            return x
        if drops:
            self.asked.add("dropout %.6g" % rate)
        if x is None or rate is None or not hasattr(x, "dtype") or is_symbol(x):
            return None
        return dropped(tf, x, rate, given.get("noise_shape"))


def rate_of(given):
    """The share that a dropout is to take out, under whichever name; None where it is not given."""
    rate = next((given[name] for name in ("rate", "level") if given.get(name) is not None), None)
    return 1.0 - given["keep_prob"] if rate is None and given.get("keep_prob") is not None else rate


def dropped(tf, x, rate, shape):
    asked = {"shape": tf.shape(x) if shape is None else shape, "dtype": x.dtype}
    mask = from_table(tf, table_of("uniform"), asked, lambda value, cast: tf.cast(value >= cast(rate), value.dtype))
    return None if mask is None else x * mask / (1.0 - tf.cast(rate, mask.dtype))


DRAWS = {"normal": normal, "truncated": truncated, "uniform": uniform, "bernoulli": bernoulli}


def from_table(tf, table, given, shaped):
    """Numbers of the asked shape. Where a shape is known only when the model runs, its first number is that of the
    batch's rows: each row has the same numbers then, however the batch is cut among the replicas."""
    dtype = dtype_of(tf, given)
    if dtype is None or "shape" not in given or not dtype.is_floating:
        return None
    shape = given["shape"]
    parts = list(shape) if isinstance(shape, (list, tuple)) else [shape]
    if any(is_symbol(part) for part in parts):
        return None

    def cast(value):
        return tf.cast(value, dtype)

    known = sizes(shape)
    if known is not None:
        return shaped(tf.constant(np.resize(table, known), dtype), cast)
    whole = tf.fill(tf.cast(tf.stack(parts) if isinstance(shape, (list, tuple)) else shape, tf.int32), cast(0.0))
    shape = tf.shape(whole)
    if whole.shape.ndims is None or whole.shape.ndims < 2:
        row = shape
    else:
        row = tf.concat([tf.ones([1], tf.int32), shape[1:]], 0)
    count = tf.reduce_prod(row)
    drawn = tf.gather(tf.constant(table, dtype), tf.math.floormod(tf.range(count), PERIOD))
    values = whole + tf.reshape(drawn, row)
    values.set_shape(whole.shape)
    return shaped(values, cast)


def table_of(kind):
    if not TABLES:
        stream = np.random.RandomState(0)
        TABLES["uniform"] = stream.uniform(size=PERIOD)
        TABLES["normal"] = stream.standard_normal(PERIOD)
        wide = stream.standard_normal(2 * PERIOD)
        TABLES["truncated"] = np.resize(wide[np.abs(wide) < 2.0], PERIOD)
    return TABLES[kind]


def dtype_of(tf, given):
    """None where the arguments are not known, or name none that TensorFlow has."""
    if given is None:
        return None
    try:
        return tf.as_dtype(given.get("dtype") or tf.keras.backend.floatx())
    except TypeError:
        return None


def sizes(shape):
    """As numbers; None where they are known only when the model runs."""
    try:
        return tuple(int(size) for size in (shape.tolist() if isinstance(shape, np.ndarray) else shape))
    except Exception:  # a tensor of a graph refuses, each TensorFlow in its own way
        return None


def is_symbol(value):
    return "KerasTensor" in type(value).__name__
