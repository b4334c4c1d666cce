"""A model's weights in an order that the old and the new world share."""

from .flavours import standing_for

CREATED = "_tfmigrate_created"


def stamp_layers(layer_class):
    """Numbers layers as they are made. Old and new script make theirs in the same order, while `model.layers` of a
    branched model is sorted differently by different versions of Keras."""
    original = layer_class.__init__

    @standing_for(original)
    def __init__(self, *args, **kwargs):
        if CREATED not in self.__dict__:
            stamp_layers.count += 1
            object.__setattr__(self, CREATED, stamp_layers.count)
        original(self, *args, **kwargs)

    layer_class.__init__ = __init__


stamp_layers.count = 0


def leaf_layers(model):
    """Every layer that is not itself a model, once each: a parallel model's are its template's."""
    leaves, seen = [], set()

    def walk(layers):
        for layer in layers:
            if id(layer) in seen:
                continue
            seen.add(id(layer))
            inner = getattr(layer, "layers", None)
            if isinstance(inner, (list, tuple)) and inner:
                walk(inner)
            else:
                leaves.append(layer)

    walk(model.layers)
    if all(hasattr(layer, CREATED) for layer in leaves):
        leaves.sort(key=lambda layer: getattr(layer, CREATED))
    return leaves


def of_model(model):
    """The model's weight variables, leaf layer by leaf layer, each once."""
    variables, seen = [], set()
    for layer in leaf_layers(model):
        for variable in layer.weights:
            if id(variable) not in seen:
                seen.add(id(variable))
                variables.append(variable)
    for metric in getattr(model, "metrics", []):  # what a script's own metric counts is no weight
        seen.update(id(variable) for variable in getattr(metric, "variables", []))
    for variable in model.weights:  # a subclassed model may hold some of its own
        if id(variable) not in seen:
            seen.add(id(variable))
            variables.append(variable)
    return variables


def trained_in(model):
    """The weights that a training call changes. In old Keras and in Keras 2 these are the ones that were trainable when
    the model was compiled, whatever the script has set since (tf_keras, RespectCompiledTrainableState)."""
    collected = getattr(model, "_collected_trainable_weights", None)  # of a graph
    compiled = hasattr(model, "_get_trainable_state") and getattr(model, "_compiled_trainable_state", None)
    if collected or not compiled:
        return collected or model.trainable_weights
    set_since = model._get_trainable_state()
    model._set_trainable_state(compiled)
    try:
        return list(model.trainable_weights)
    finally:
        model._set_trainable_state(set_since)


def name_of(variable):
    return getattr(variable, "path", None) or variable.name


def shape_of(variable):
    return tuple(int(size) for size in variable.shape)
