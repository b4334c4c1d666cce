"""What a model was asked to be, where an aligned run neutralises it or its losses are slow to show it."""

import functools
import sys

import numpy as np

from . import flavours, initializers, weights

ASKED = "_tfmigrate_asked"
LOADED = "_tfmigrate_loaded"
ADDS = "_tfmigrate_adds"
NOISE = (
    "Dropout",
    "SpatialDropout1D",
    "SpatialDropout2D",
    "SpatialDropout3D",
    "GaussianNoise",
    "GaussianDropout",
    "AlphaDropout",
)
REGULARIZED = ("kernel", "bias", "activity", "embeddings", "gamma", "beta", "recurrent", "depthwise", "pointwise")


def of_model(model):
    """Fields of the trace's Model event; lists are in the order in which the layers were made."""
    layers, models = weights.leaf_layers(model), with_inner(model)
    dtypes = set(dtype_of(layer) for layer in layers if layer.weights)
    return {
        "noise": [words for layer in layers for words in noise_of(layer)],
        "regularizers": [words for layer in layers for words in parts_in_words(layer, "_regularizer")],
        "constraints": [words for layer in layers for words in parts_in_words(layer, "_constraint")],
        "dtypes": sorted(dtypes - set([None])),
        "initializers": initializers.of_layers(layers),
        "own_step": own_step(model),
        "own_batch_norms": [layer.name for layer in layers if is_own_batch_norm(layer)],
        "masked": any(
            getattr(output, "_keras_mask", None) is not None for output in getattr(model, "outputs", None) or []
        ),
        "loaded": any(hasattr(inner, LOADED) or is_part_of_loaded(inner) for inner in models),
        "adds_losses": any(hasattr(layer, ADDS) for layer in layers + models),
    }


def noise_of(layer):
    """`Dropout 0.25` and `LSTM recurrent_dropout 0.2`: what the layer was asked for, before it was silenced."""
    kind = type(layer).__name__
    lines = []
    if kind in NOISE:
        rate = getattr(layer, "stddev" if kind == "GaussianNoise" else "rate", None)
        if isinstance(rate, (int, float)) and rate:
            lines.append("%s %.6g" % (kind, rate))
    both = getattr(layer, ASKED, None)  # of Bidirectional, which copies its layer
    for asked in both if isinstance(both, list) else [getattr(cell, ASKED, {}) for cell in cells(layer)]:
        lines.extend("%s %s %.6g" % (kind, name, asked[name]) for name in sorted(asked) if asked[name])
    return lines


def parts_in_words(layer, what):
    """`kernel l2=0.0001` for each part of a layer that has one of these: `_regularizer`, `_constraint`."""
    parts = initializers.parts_of(layer, REGULARIZED)
    named = [(part, regularizer(getattr(layer, part + what, None))) for part in parts]
    return ["%s %s" % (part, words) for part, words in named if words]


def dtype_of(layer):
    """In which type it computes, by name; None where nobody knows."""
    dtype = getattr(layer, "compute_dtype", None) or getattr(layer, "dtype", None)
    return None if dtype is None else str(getattr(dtype, "name", dtype))


def own_step(model):
    """"Net.train_step" where a class of the script's own says how its models are trained; empty where Keras does."""
    for cls in type(model).__mro__:
        if "train_step" in vars(cls):
            is_keras = set(cls.__module__.split(".")) & set(["keras", "tf_keras"])
            return "" if is_keras else cls.__name__ + ".train_step"
    return ""


def is_own_batch_norm(layer):
    """Whether a class of the script's own says how a BatchNormalization is called."""
    line = type(layer).__mro__
    known = next((number for number, cls in enumerate(line) if cls.__name__ == "BatchNormalization"), 0)
    return any("call" in vars(cls) for cls in line[:known])


def is_part_of_loaded(model):
    """Whether all that has weights belongs to models that were loaded: a model of some outputs of one."""
    layers = weights.leaf_layers(model)
    return any(layer.weights for layer in layers) and all(hasattr(layer, LOADED) for layer in layers if layer.weights)


def cells(layer):
    """The recurrent cells of a layer, of the two directions it wraps, or of the one it spreads over time."""
    inner = [layer] + [getattr(layer, name, None) for name in ("forward_layer", "backward_layer", "layer")]
    cell_list = []
    for one in inner:
        cell = getattr(one, "cell", None)
        cell_list.extend(part for part in (getattr(cell, "cells", None) or [cell]) if part is not None)
    return cell_list


def regularizer(value):
    """`l2=0.0001`, or a constraint's `max_value=2`; empty for none, and for one whose factors are all zero."""
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
    models, pending = [], [model]
    while pending:
        one = pending.pop()
        if any(one is other for other in models):
            continue
        models.append(one)
        pending.extend(layer for layer in getattr(one, "layers", None) or [] if getattr(layer, "layers", None))
    return models


def watch_loading(flavour):
    """Marks models whose weights a file gave."""
    read = functools.partial(values_of, flavour)
    for owner in owners(flavour, "load_weights"):
        owner.load_weights = marking(owner.load_weights, False, read)
    # An import of tensorflow.keras.models makes another module than tf.keras.models is.
    imported = flavours.optional("tensorflow.keras.models") if flavour.name != "keras" else None
    for models in [getattr(namespace, "models", None) for namespace in flavour.namespaces] + [imported]:
        if hasattr(models, "load_model") and not hasattr(models.load_model, LOADED):
            models.load_model = marking(models.load_model, True, read)


def watch_losses(flavour):
    """Marks layers whose own code adds a loss; Keras itself adds those of regularizers in the same way."""
    for start in flavour.layer_classes:
        for owner in start.__mro__:
            if "add_loss" in vars(owner) and not hasattr(owner.add_loss, ADDS):
                owner.add_loss = adding(owner.add_loss)


def adding(original):
    @functools.wraps(original)
    def add_loss(self, *args, **kwargs):
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if not set(caller.split(".")) & set(["keras", "tf_keras"]):
            try:
                object.__setattr__(self, ADDS, True)
            except (AttributeError, TypeError):  # a class that keeps no attributes
                pass
        return original(self, *args, **kwargs)

    setattr(add_loss, ADDS, True)
    return add_loss


def frozen_penalty(model):
    """What a model's regularizers make of its frozen weights, which Keras 3 leaves out of the loss: a constant."""
    weights_ = getattr(model, "weights", ())
    penalised = [weight for weight in weights_ if getattr(weight, "regularizer", None) is not None]
    trained = set(map(id, model.trainable_weights)) if penalised else set()
    return sum(float(weight.regularizer(weight)) for weight in penalised if id(weight) not in trained)


def owners(flavour, name):
    """The classes of Keras that have a method of this name for its models."""
    settings_ = []
    starts = [trainer for trainer, _ in flavour.trainers]
    for start in starts + [getattr(namespace, "Model", None) for namespace in flavour.namespaces]:
        for owner in getattr(start, "__mro__", ()):
            if name in vars(owner) and owner not in settings_:
                settings_.append(owner)
    return settings_


def marking(original, answers_model, read):
    @functools.wraps(original)
    def load(first, *args, **kwargs):
        in_part = kwargs.get("by_name") or kwargs.get("skip_mismatch") or any(value is True for value in args[1:])
        before = read(first) if in_part and not answers_model else {}
        answer = original(first, *args, **kwargs)
        mark(answer if answers_model else first, answers_model or not in_part)
        for key, (variable, value) in (read(first) if before else {}).items():
            if key not in before or not np.array_equal(before[key][1], value):
                GIVEN[key] = variable
        return answer

    setattr(load, LOADED, True)
    return load


def values_of(flavour, model):
    """What a model's weights hold, by the id of the variable: (variable, value); nothing where that cannot be read."""
    try:
        variables = weights.of_model(model)
        in_graph = not all(hasattr(variable, "numpy") for variable in variables)
        values = (
            flavour.root.backend.batch_get_value(variables)
            if in_graph
            else [variable.numpy() for variable in variables]
        )
        return {id(variable): (variable, np.array(value)) for variable, value in zip(variables, values)}
    except Exception:  # what has no weights yet, each Keras says in its own way
        return {}


FROM_FILE = {}
"""Variables by id, of models that a file gave all their weights."""
GIVEN = {}
"""Variables by id, of models that a file gave some of their weights: those that it gave."""


def mark(model, whole):
    try:
        object.__setattr__(model, LOADED, True)
        for layer in weights.leaf_layers(model):  # another model may be made of some of them, and be trained
            object.__setattr__(layer, LOADED, True)
        if whole:
            FROM_FILE.update((id(variable), variable) for variable in weights.of_model(model))
    except (AttributeError, TypeError, ValueError):  # what was loaded is no model of layers, or has no weights yet
        pass


def from_file(variable):
    return id(variable) in FROM_FILE


def given(variable):
    return id(variable) in FROM_FILE or id(variable) in GIVEN
