"""What a model was asked to be, where an aligned run neutralises it or its losses are slow to show it."""

import functools

from . import weights

ASKED = "_tfmigrate_asked"
LOADED = "_tfmigrate_loaded"
NOISE = ("Dropout", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D", "GaussianNoise", "GaussianDropout",
         "AlphaDropout")
REGULARIZED = ("kernel", "bias", "activity", "embeddings", "gamma", "beta", "recurrent", "depthwise", "pointwise")


def of_model(model):
    """Fields of the trace's Model event; lists are in the order in which the layers were made."""
    layers = weights.leaf_layers(model)
    noise, regularizers, dtypes = [], [], set()
    for layer in layers:
        kind = type(layer).__name__
        if kind in NOISE:
            rate = getattr(layer, "stddev" if kind == "GaussianNoise" else "rate", None)
            if isinstance(rate, (int, float)) and rate:
                noise.append("%s %.6g" % (kind, rate))
        for cell in cells(layer):
            asked = getattr(cell, ASKED, {})
            noise.extend("%s %s %.6g" % (kind, name, asked[name]) for name in sorted(asked) if asked[name])
        for part in REGULARIZED:
            words = regularizer(getattr(layer, part + "_regularizer", None))
            if words:
                regularizers.append("%s %s" % (part, words))
        if layer.weights:
            dtype = getattr(layer, "compute_dtype", None) or getattr(layer, "dtype", None)
            if dtype is not None:
                dtypes.add(str(getattr(dtype, "name", dtype)))
    return {
        "noise": noise,
        "regularizers": regularizers,
        "dtypes": sorted(dtypes),
        "loaded": any(hasattr(one, LOADED) for one in with_inner(model)),
    }


def cells(layer):
    """The recurrent cells of a layer, of the two directions it wraps, or of the one it spreads over time."""
    inner = [layer] + [getattr(layer, name, None) for name in ("forward_layer", "backward_layer", "layer")]
    found = []
    for one in inner:
        cell = getattr(one, "cell", None)
        found.extend(part for part in (getattr(cell, "cells", None) or [cell]) if part is not None)
    return found


def regularizer(value):
    """`l2=0.0001`; empty for none, and for one whose factors are all zero."""
    if value is None:
        return ""
    try:
        config = value.get_config()
    except (AttributeError, NotImplementedError):
        return getattr(value, "__name__", type(value).__name__)
    numbers = dict((key, float(factor)) for key, factor in config.items() if is_number(factor))
    factors = ["%s=%.6g" % (key, numbers[key]) for key in sorted(numbers) if numbers[key]]
    return " ".join(factors) if numbers else type(value).__name__


def is_number(value):
    try:
        return not isinstance(value, (str, bool)) and float(value) is not None
    except (TypeError, ValueError):
        return False


def with_inner(model):
    """The model and every model in it."""
    found, pending = [], [model]
    while pending:
        one = pending.pop()
        if any(one is other for other in found):
            continue
        found.append(one)
        pending.extend(layer for layer in getattr(one, "layers", None) or [] if getattr(layer, "layers", None))
    return found


def watch_loading(flavour):
    """Marks models whose weights a file gave."""
    for owner, name in loaders(flavour):
        setattr(owner, name, marking(getattr(owner, name), name == "load_model"))


def loaders(flavour):
    owners = []
    for trainer, _ in flavour.trainers:
        for owner in trainer.__mro__:
            if "load_weights" in vars(owner) and owner not in owners:
                owners.append(owner)
    for model in [getattr(namespace, "Model", None) for namespace in flavour.namespaces]:
        for owner in getattr(model, "__mro__", ()):
            if "load_weights" in vars(owner) and owner not in owners:
                owners.append(owner)
    return [(owner, "load_weights") for owner in owners] + [
        (namespace.models, "load_model") for namespace in flavour.namespaces if hasattr(namespace, "models")
        and hasattr(namespace.models, "load_model") and not hasattr(namespace.models.load_model, LOADED)]


def marking(original, answers_model):
    @functools.wraps(original)
    def load(first, *args, **kwargs):
        answer = original(first, *args, **kwargs)
        mark(answer if answers_model else first)
        return answer

    setattr(load, LOADED, True)
    return load


def mark(model):
    try:
        object.__setattr__(model, LOADED, True)
    except (AttributeError, TypeError):
        pass
