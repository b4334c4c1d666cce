def layer_called(model, name):
    """The layer of this name, which has underscores for slashes in Keras 3."""
    name = name.replace("/", "_")
    return next(layer for layer in model.layers if layer.name.replace("/", "_") == name)
