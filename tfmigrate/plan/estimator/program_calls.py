"""Calls of anything else in a model function: layers, methods of optimizers, and what the program defines."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.estimator import network, optimizers, training
from tfmigrate.plan.estimator.keras_layers import keras_call
from tfmigrate.plan.estimator.layers import LAYER_CLASSES
from tfmigrate.plan.estimator.model_reader import ModelReader
from tfmigrate.plan.estimator.operations import OF_GRAPH
from tfmigrate.plan.estimator.own_code import builds
from tfmigrate.plan.estimator.own_functions import read_building, read_closure, read_computing
from tfmigrate.plan.estimator.reader import Unconvertible
from tfmigrate.plan.estimator.things import (
    PLAIN,
    Choice,
    Features,
    IsDict,
    Layer,
    Mode,
    Object,
    Optimizer,
    Params,
    Penalty,
    Plain,
    Tensor,
    Thing,
    Training,
    within,
)
from tfmigrate.understand.contents import is_layer
from tfmigrate.understand.syntax import root_name
from tfmigrate.understand.values import ClassValue, FunctionValue, Method

_STEPS = {
    "minimize": optimizers.read_minimize,
    "compute_gradients": optimizers.read_compute_gradients,
    "apply_gradients": optimizers.read_apply_gradients,
}
"""The methods of an optimizer."""
_OF_NETWORK = (Plain, Features, Tensor, Mode, Training, Params, Choice)
"""What a function is passed that builds a part of the model."""


def read_other_call(reader: ModelReader, node: cst.Call) -> Thing:
    """A call of something that is not TensorFlow's: an optimizer's method, a layer, a function of the program."""
    func = node.func
    if isinstance(func, cst.Call):
        inner = reader.symbol(func.func)
        if inner is not None:
            head, _, last = inner.rpartition(".")
            if head == "layers" and last in LAYER_CLASSES:
                return network.layer_class(reader, node, func, LAYER_CLASSES[last])
        losses = training.keras_loss(reader, node, func)
        if losses is not None:
            return losses
    if isinstance(func, cst.Attribute) and reader.symbol_of_call(func.value) in OF_GRAPH:
        message = f"`{reader.module.code(func.value)}` has no place in a Keras model"
        raise reader.refuse(codes.NO_KERAS_LAYER, node, message)
    if _asks_for_dict(reader, node):
        return IsDict()
    if isinstance(func, cst.Name) and func.value == "sum" and "sum" not in reader.names and len(node.args) == 1:
        summed = reader.read(node.args[0].value)
        if isinstance(summed, Penalty):
            return summed
    thing = _thing_called(reader, func)
    if isinstance(thing, Layer):
        return network.layer_call(reader, node, thing.made)
    if isinstance(func, cst.Attribute) and func.attr.value in _STEPS:
        optimizer = reader.read(func.value)
        if isinstance(optimizer, Optimizer):
            return _STEPS[func.attr.value](reader, node, optimizer)
    return _program_call(reader, node, thing)


def _program_call(reader: ModelReader, node: cst.Call, thing: Thing) -> Thing:
    """A call of a function, a class or an object of the program, or of a layer or model that it has."""
    func = node.func
    value = reader.program.modules[reader.module].values.get(func)
    things = [passed_on(reader, arg.value) for arg in node.args]
    own = isinstance(value, FunctionValue) and isinstance(value.node, cst.FunctionDef) and value.owner is None
    if isinstance(value, ClassValue) and not list(value.unknown_bases()):
        return _made_object(reader, node, value, things)
    method = _method(reader, func, thing)
    if method is not None:
        return _of_object(reader, node, *method, things)
    if all(isinstance(thing, Plain) for thing in things):
        return read_closure(reader, node, value) if own and isinstance(value, FunctionValue) else PLAIN
    if is_layer(value):
        return keras_call(reader, node, value, things)
    if own and isinstance(value, FunctionValue):
        if not all(isinstance(thing, _OF_NETWORK) for thing in things):
            return read_computing(reader, node, value, things)
        built = reader.attempt(lambda: read_building(reader, node, value, things))
        if not isinstance(built, Unconvertible):
            return built
        computed = reader.attempt(lambda: read_computing(reader, node, value, things))
        if not isinstance(computed, Unconvertible):
            return computed
        raise built
    if isinstance(func, cst.Attribute) and isinstance(reader.read(func.value), Params):
        return PLAIN
    raise reader.refuse(codes.NO_KERAS_LAYER, node, f"`{reader.module.code(func)}` cannot be followed")


def _thing_called(reader: ModelReader, func: cst.BaseExpression) -> Thing:
    """What a name, or an attribute of an object, stands for that is called."""
    if isinstance(func, cst.Name):
        return within(reader.names.get(func.value, PLAIN), reader.modes)
    return reader.read(func) if _is_of_object(reader, func) else PLAIN


def _is_of_object(reader: ModelReader, func: cst.BaseExpression) -> bool:
    root = root_name(func) if isinstance(func, cst.Attribute) else None
    return root is not None and isinstance(reader.names.get(root.value), Object)


def _made_object(reader: ModelReader, node: cst.Call, cls: ClassValue, passed: Sequence[Thing]) -> Object:
    """An object of a plain class of the program."""
    made = Object(cls)
    maker = cls.lookup("__init__")
    if isinstance(maker, FunctionValue):
        plain = all(isinstance(thing, Plain) for thing in passed)
        if not plain or builds(reader.program, maker):
            read_building(reader, node, maker, passed, made)
    return made


def _of_object(
    reader: ModelReader, node: cst.Call, function: FunctionValue, receiver: Object, passed: Sequence[Thing]
) -> Thing:
    """What a method of an object returns."""
    plain = all(isinstance(thing, Plain) for thing in passed)
    if plain and not receiver.attributes and not builds(reader.program, function):
        return PLAIN
    return read_building(reader, node, function, passed, receiver)


def _method(reader: ModelReader, func: cst.BaseExpression, called: Thing) -> tuple[FunctionValue, Object] | None:
    """The method of an object that a call runs, and the object."""
    method, receiver = None, called
    if isinstance(called, Object):
        method = called.cls.lookup("__call__")
    elif isinstance(func, cst.Attribute) and isinstance(func.value, cst.Call):
        value = reader.program.modules[reader.module].values.get(func)
        of_super = isinstance(func.value.func, cst.Name) and func.value.func.value == "super"
        receiver = reader.receivers[-1] if of_super and reader.receivers else PLAIN
        method = value.function if isinstance(value, Method) else None
    elif isinstance(func, cst.Attribute) and _is_of_object(reader, func):
        receiver = reader.read(func.value)
        method = receiver.cls.lookup(func.attr.value) if isinstance(receiver, Object) else None
    if isinstance(method, FunctionValue) and isinstance(receiver, Object):
        return method, receiver
    return None


def _asks_for_dict(reader: ModelReader, node: cst.Call) -> bool:
    """`isinstance(features, dict)`."""
    if not isinstance(node.func, cst.Name) or node.func.value != "isinstance" or len(node.args) != 2:
        return False
    subject, kind = (arg.value for arg in node.args)
    return isinstance(kind, cst.Name) and kind.value == "dict" and isinstance(passed_on(reader, subject), Features)


def passed_on(reader: ModelReader, node: cst.BaseExpression) -> Thing:
    """What is passed on; all the features may be, and are then chosen from by key."""
    thing = within(reader.names.get(node.value, PLAIN), reader.modes) if isinstance(node, cst.Name) else PLAIN
    return thing if isinstance(thing, Features) else reader.read(node)
