def add_penalty(layer, weight, regularizer):
    """Adds regularizer(weight) to the loss of each step, as add_loss() did in TensorFlow 1."""
    if not hasattr(weight, "regularizer"):  # Keras 2
        layer.add_loss(lambda: regularizer(weight))
    elif weight.regularizer is None:
        weight.regularizer = regularizer
    else:
        raise ValueError(f"{weight.path} has a regularizer already")
