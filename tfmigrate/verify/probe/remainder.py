"""A batch that does not divide by the replicas, shared among them as MirroredStrategy shares it.

multi_gpu_model gives the last replica what is left over and takes the mean over the samples. MirroredStrategy makes
parts whose sizes differ by one at most, the larger first, and takes the mean of their means: each sample then weighs
batch / (replicas * its part). An old run that slices so and weighs its samples so does what the new one does, exactly;
what is left between them is the migration's, and what it differs from the plain old run by is the remainder's.
"""

import functools

import numpy as np

from . import flavours
from .towers import replicas_of


def sizes(batch, replicas):
    """Of the parts, in the order of the replicas; `batch` may be a tensor."""
    return [batch // replicas + (1 if i < batch % replicas else 0) for i in range(replicas)]


def weights(batch, replicas):
    """Of each sample, as float32; their mean is 1."""
    parts = sizes(batch, replicas)
    return np.concatenate([np.full(size, batch / float(replicas * size), np.float32) for size in parts if size])


def tensor_weights(tf, batch, replicas):
    return tf.ensure_shape(tf.numpy_function(lambda n: weights(int(n), replicas), [batch], tf.float32), [None])


def of_sequences(model):
    """Whether each output has a loss for every step of a sequence."""
    ranks = [len(output.shape) for output in getattr(model, "outputs", None) or []]
    return bool(ranks) and all(rank == 3 for rank in ranks)


def on_each(array, factors):
    """Sample weights (samples,) or (samples, times) times the factor of their sample."""
    return array * factors.reshape((-1,) + (1,) * (array.ndim - 1))


# -- slices of a genuine multi_gpu_model


def slice_evenly(tf):
    """Its Lambda layers, made while it runs, are given the even slice instead of their own."""
    for home, layers in (
        ("keras.utils.multi_gpu_utils", "keras.layers.core"),
        ("keras.utils.training_utils", "keras.layers.core"),
        ("tensorflow.python.keras.utils.multi_gpu_utils", "tensorflow.python.keras.layers.core"),
    ):
        module, layers = flavours.optional(home), flavours.optional(layers)
        if module is not None and layers is not None and hasattr(module, "multi_gpu_model"):
            flavours.everywhere(module.multi_gpu_model, slicing(module.multi_gpu_model, layers.Lambda, tf))


def slicing(original, layer, tf):
    @functools.wraps(original)
    def multi_gpu_model(*args, **kwargs):
        own_init = layer.__init__
        layer.__init__ = with_even_slice(own_init, tf)
        try:
            return original(*args, **kwargs)
        finally:
            layer.__init__ = own_init

    return multi_gpu_model


def with_even_slice(original, tf):
    def get_slice(data, i, parts):
        return even_slice(tf, data, i, parts)

    @flavours.standing_for(original)
    def __init__(self, function, *args, **kwargs):
        chosen = get_slice if getattr(function, "__name__", "") == "get_slice" else function
        original(self, chosen, *args, **kwargs)

    return __init__


def even_slice(tf, data, i, parts):
    """The part of replica i."""
    size, left = tf.shape(data)[0] // parts, tf.shape(data)[0] % parts
    begin = i * size + tf.minimum(i, left)
    return data[begin:begin + size + tf.cast(i < left, size.dtype)]


# -- weights of the samples


def weighted_inputs(model, inputs):
    """What a graph's train function is fed, its sample weights multiplied; None where it is fed none."""
    replicas = replicas_of(model)
    start = len(model._feed_inputs) + len(model._feed_targets)
    count = len(model._feed_sample_weights or [])
    batch = len(inputs[0])
    if not count or not all(isinstance(part, np.ndarray) for part in inputs[:start + count]):
        return None
    factors = weights(batch, replicas)
    return inputs[:start] + [on_each(part, factors) for part in inputs[start:start + count]] + inputs[start + count:]


def weighted_data(tf, model, data):
    """What `train_step` is given, with sample weights; None where that is no (inputs, targets[, weights])."""
    if isinstance(data, list):
        data = tuple(data)
    if not isinstance(data, tuple) or len(data) < 2 or data[1] is None:
        return None
    batch = tf.shape(tf.nest.flatten(data[0])[0])[0]
    factors = tensor_weights(tf, batch, replicas_of(model))
    if of_sequences(model):
        # Keras 3 (3.15) multiplies them with the mask of each step, and does not make a row of a number by itself.
        factors = factors[:, tf.newaxis]
    if len(data) < 3 or data[2] is None:
        return data[0], data[1], factors

    def times_factors(given):
        shape = tf.concat([[-1], tf.ones_like(tf.shape(given)[1:])], 0)
        return tf.cast(given, tf.float32) * tf.reshape(factors, shape)

    return data[0], data[1], tf.nest.map_structure(times_factors, data[2])
