"""Layers as they computed in their time: old defaults, frozen batch normalization, embeddings."""

import importlib
import inspect

from . import flavours


def restore_layer_defaults(flavour, defaults):
    for name, values in defaults.items():
        for cls in flavours.classes(flavour, "layers", [name]):
            cls.__init__ = with_defaults(cls.__init__, values)


GATES = {"ConvLSTM2D": {"recurrent_activation": "hard_sigmoid"}}
"""Up to TensorFlow 2.15 (keras/layers/rnn/conv_lstm2d.py), tf.keras's as standalone Keras's."""


def restore_frozen_batch_norm(tf, flavour):
    """A frozen BatchNormalization took the mean and variance of the batch in training, and left its own (TFM445)."""
    for cls in flavours.classes(flavour, "layers", ["BatchNormalization"]):
        cls.call = by_batch(tf, cls.call)


def by_batch(tf, original):
    @flavours.standing_for(original)
    def call(self, inputs, *args, **kwargs):
        training = args[0] if args else kwargs.get("training")
        if training is None or training is False or self.trainable:
            return original(self, inputs, *args, **kwargs)
        rank = len(inputs.shape)
        kept = [axis % rank for axis in ([self.axis] if isinstance(self.axis, int) else self.axis)]
        mean, variance = tf.nn.moments(inputs, [axis for axis in range(rank) if axis not in kept], keepdims=True)
        beta = tf.reshape(self.beta, tf.shape(mean)) if self.center else None
        gamma = tf.reshape(self.gamma, tf.shape(mean)) if self.scale else None
        return tf.nn.batch_normalization(inputs, mean, variance, beta, gamma, self.epsilon)

    return call


def restore_hard_sigmoid(tf, flavour):
    """By that name Keras 3 means x / 6 + 0.5 (keras/src/activations/activations.py, 3.15)."""
    if not flavour.is_keras3:
        return
    module = importlib.import_module("keras.src.activations")

    def hard_sigmoid(x):
        return tf.clip_by_value(0.2 * x + 0.5, 0.0, 1.0)

    flavours.everywhere(module.hard_sigmoid, hard_sigmoid)
    module.ALL_OBJECTS_DICT["hard_sigmoid"] = hard_sigmoid
    restore_layer_defaults(flavour, GATES)


def restore_embedding_gradients(flavour):
    """Keras 3 squares the gradients of a row that occurs twice in a batch one by one; a regularizer of nothing makes
    the gradient dense, as it was. Standalone Keras's was dense for each of its optimizers, tf.keras's for none."""
    regularizer = flavour.root.regularizers.L2(0.0)
    for cls in flavours.classes(flavour, "layers", ["Embedding"]):
        cls.__init__ = with_defaults(cls.__init__, {"embeddings_regularizer": regularizer})


def restore_embedding_shapes(flavour):
    for cls in flavours.classes(flavour, "layers", ["Embedding"]):
        cls.__init__ = with_input_shape(cls.__init__)


def with_input_shape(original):
    """An Embedding that comes first in a Sequential knew its input by `input_length`, which Keras 3 drops: the model
    then has no input before it is trained, and nothing to wrap."""

    @flavours.standing_for(original)
    def __init__(self, *args, **kwargs):
        length = kwargs.pop("input_length", None)
        if "input_shape" not in kwargs and "batch_input_shape" not in kwargs:
            kwargs["input_shape"] = tuple(length) if isinstance(length, (list, tuple)) else (length,)
        return original(self, *args, **kwargs)

    return __init__


def with_defaults(original, values):
    signature = inspect.signature(original)

    @flavours.standing_for(original)
    def __init__(self, *args, **kwargs):
        bound = signature.bind_partial(self, *args, **kwargs).arguments
        for parameter, value in values.items():
            if parameter not in bound:
                kwargs[parameter] = value
        return original(self, *args, **kwargs)

    return __init__
