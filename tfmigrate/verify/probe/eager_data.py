"""The tensors of a batch, and how a model takes them."""


def unpack(data):
    """(inputs, targets) of what `train_step` gets."""
    if isinstance(data, list):
        data = tuple(data)
    if not isinstance(data, tuple):
        return data, None
    return data[0], data[1] if len(data) > 1 else None


def input_names(model):
    """In the order in which the model takes them; Keras 3 has no list of them, but its inputs bear them."""
    names = getattr(model, "input_names", None)
    return names or [getattr(tensor, "name", None) for tensor in getattr(model, "inputs", None) or []]


def ordered(tf, model, data):
    """The tensors of a batch: inputs, then targets."""
    inputs, targets = unpack(data)
    return in_order(tf, inputs, input_names(model)) + in_order(tf, targets, getattr(model, "output_names", None))


def in_order(tf, values, names):
    """The tensors of one side of a batch: by the model's names where they are in a dict, else as they come."""
    if isinstance(values, dict) and names and all(name in values for name in names):
        return [values[name] for name in names if values[name] is not None]
    return [leaf for leaf in tf.nest.flatten(values) if leaf is not None]


def row_of_zeros(tf, data):
    """Inputs of one sample in the shape of arrays, a dataset's or a Sequence's; None where that is unknown."""
    spec = getattr(data, "element_spec", None)
    if (
        spec is None
        and hasattr(data, "__getitem__")
        and hasattr(data, "__len__")
        and not hasattr(data, "shape")
        and (not isinstance(data, (list, tuple, dict)))
    ):
        spec = data[0]
    first = spec[0] if isinstance(spec, (tuple, list)) else data if spec is None else spec
    leaves = tf.nest.flatten(first)
    if not leaves or not all(hasattr(leaf, "shape") and hasattr(leaf, "dtype") for leaf in leaves):
        return None
    shapes = [tuple(leaf.shape)[1:] for leaf in leaves]
    if any(size is None for shape in shapes for size in shape):
        return None
    return tf.nest.map_structure(lambda leaf: tf.zeros((1,) + tuple(leaf.shape)[1:], leaf.dtype), first)
