def layer_called(model, name):
    """The layer of this name, in which Keras 3 has underscores instead of slashes."""
    name = name.replace("/", "_")
    return next(layer for layer in model.layers if layer.name.replace("/", "_") == name)
