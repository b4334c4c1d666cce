"""What old Keras let a script set on models and layers, or read from a shape, and current Keras does not."""

import functools
import importlib

from .flavours import standing_for


def restore_attributes(tf, flavour):
    restore_listed_weights(flavour)
    restore_dimensions(tf, flavour)
    for name in ("train", "test", "predict"):
        setattr(flavour.root.Model, "_make_%s_function" % name, calling("make_%s_function" % name))
    if flavour.is_keras3:
        restore_set_outputs(importlib.import_module("keras.src.models.functional").Functional)
        restore_slashes(flavour.root.Operation, flavour.root.Model)
        restore_calls(flavour.root.layers.Layer)
        flavour.root.Model.input_names = Computed(input_names)
    else:
        follow_set_outputs(importlib.import_module("tf_keras.src.engine.functional").Functional)


def calling(name):
    """A method that is called by another name now."""
    return lambda self, *args, **kwargs: getattr(self, name)(*args, **kwargs)


def restore_set_outputs(functional):
    """`model.outputs = [tensor]`: a call of the model ends there; it keeps all its layers."""

    def end_at(self, outputs):
        object.__setattr__(self, "_outputs", list(outputs))
        object.__setattr__(self, "_outputs_struct", alone_or_all(outputs))

    functional.outputs = property(functional.outputs.fget, end_at)


def follow_set_outputs(functional):
    """Keras 2 lets a script set them, and counts on those that the model was made with."""
    original = functional._run_internal_graph

    @functools.wraps(original)
    def run(self, *args, **kwargs):
        made_with = self._nested_outputs if isinstance(self._nested_outputs, (list, tuple)) else [self._nested_outputs]
        if len(self.outputs) != len(made_with) or any(a is not b for a, b in zip(self.outputs, made_with)):
            self._nested_outputs = alone_or_all(self.outputs)
            self._compute_tensor_usage_count()
        return original(self, *args, **kwargs)

    functional._run_internal_graph = run


def alone_or_all(outputs):
    return outputs[0] if len(outputs) == 1 else list(outputs)


def restore_listed_weights(flavour):
    """`self.gamma = K.variable(ones)` and `self.trainable_weights = [self.gamma]` in a layer."""
    for cls in flavour.layer_classes:
        cls.trainable_weights = property(cls.trainable_weights.fget, train)
        cls.non_trainable_weights = property(cls.non_trainable_weights.fget, lambda self, weights: None)
    if flavour.is_keras3:
        for namespace in flavour.namespaces:
            namespace.backend.variable = functools.partial(variable, flavour.root)


def train(self, weights):
    """Keras finds the weights of a layer among its attributes; which are trained, they say themselves."""
    for weight in weights:
        if hasattr(type(weight), "trainable") and not weight.trainable:
            weight.trainable = True


def variable(keras, value, dtype=None, name=None, constraint=None):
    """One that a layer of Keras 3 has among its weights, which TensorFlow's are not."""
    made = keras.Variable(value, dtype=dtype or keras.config.floatx(), name=name and name.replace("/", "_"))
    made.trainable = False  # Until it is listed; one that is made so has no gradient.
    made.constraint = constraint
    return made


def restore_calls(layer):
    """`layer.output_shape`, `layer.get_input_at(0)`."""
    for side in ("input", "output"):
        setattr(layer, side + "_shape", Computed(functools.partial(shape_of_call, side=side, index=0)))
        setattr(layer, "get_%s_at" % side, functools.partialmethod(tensors_of_call, side))
        setattr(layer, "get_%s_shape_at" % side, functools.partialmethod(shape_of_call, side))


def input_names(model):
    return [tensor._keras_history.operation.name for tensor in model.inputs]


class Computed(object):
    """An attribute that is computed when it is read; a class of the script may set one of its own."""

    def __init__(self, compute):
        self.compute = compute

    def __get__(self, instance, owner=None):
        return self if instance is None else self.compute(instance)


def tensors_of_call(layer, side, index):
    """What the call `index` took or made; what an InputLayer takes is what it makes."""
    taken = layer._get_node_attribute_at_index(index, side + "_tensors", side)
    return taken if side == "output" or not isinstance(taken, list) or taken else layer.output


def shape_of_call(layer, side, index):
    tensors = tensors_of_call(layer, side, index)
    return [tensor.shape for tensor in tensors] if isinstance(tensors, (list, tuple)) else tensors.shape


class Dimension(int):
    """Of a shape, as in TensorFlow 1."""

    @property
    def value(self):
        return int(self)


class Shape(tuple):
    """Of a symbolic tensor, as in TensorFlow 1; Keras 3 has a plain tuple."""

    def as_list(self):
        return list(self)

    @property
    def ndims(self):
        return len(self)

    def __getitem__(self, key):
        found = super().__getitem__(key)
        return Shape(found) if isinstance(key, slice) else found


def restore_dimensions(tf, flavour):
    """`tensor.shape[1].value`, `tensor.get_shape().as_list()`, and standalone Keras's `tensor._keras_shape`."""
    shape = tf.TensorShape
    shape.__getitem__ = in_dimensions(shape.__getitem__)
    tensor = type(flavour.root.Input((1,)))
    if flavour.is_keras3:
        original = tensor.shape.fget
        tensor.shape = property(lambda self: Shape(map(as_dimension, original(self))), tensor.shape.fset)
        tensor.get_shape = lambda self: self.shape
    tensor._keras_shape = property(lambda self: tuple(self.shape))


def in_dimensions(original):
    @functools.wraps(original)
    def of(self, key):
        return as_dimension(original(self, key))

    return of


def as_dimension(size):
    return Dimension(size) if type(size) is int else size


def restore_slashes(operation, model):
    """In the name of a layer, as `stage2/conv`."""
    for cls, method in ((operation, "__init__"), (model, "get_layer")):
        setattr(cls, method, without_slashes(getattr(cls, method)))


def without_slashes(original):
    @standing_for(original)
    def named(self, name=None, *args, **kwargs):
        return original(self, name.replace("/", "_") if isinstance(name, str) else name, *args, **kwargs)

    return named
