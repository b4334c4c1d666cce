"""Calls of TensorFlow in a model function: what each stands for."""

from __future__ import annotations

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import named_arguments, text_of
from tfmigrate.plan.estimator import network, optimizers, penalties, training
from tfmigrate.plan.estimator.contrib import contrib_layer, layer_of
from tfmigrate.plan.estimator.dropouts import nn_dropout
from tfmigrate.plan.estimator.layers import LAYER_CLASSES, LAYERS, LOGGING_HOOKS, SCHEDULES
from tfmigrate.plan.estimator.model_reader import ModelReader
from tfmigrate.plan.estimator.operations import operation
from tfmigrate.plan.estimator.program_calls import read_other_call
from tfmigrate.plan.estimator.things import (
    PLAIN,
    Logs,
    OfSamples,
    Penalty,
    Plain,
    Step,
    Thing,
    TrainOp,
    Updates,
    Variables,
    within,
)
from tfmigrate.walk import calls_in, nodes_in


def read_call(reader: ModelReader, node: cst.Call) -> Thing:
    name = reader.symbol(node.func)
    if name is None:
        return read_other_call(reader, node)
    return (
        _layer(reader, node, name)
        or _of_training(reader, node, name)
        or _of_graph(reader, node, name)
        or _brought_together(reader, node, name)
        or operation(reader, node, name)
    )


def _layer(reader: ModelReader, node: cst.Call, name: str) -> Thing | None:
    """A layer, made or called; None for anything else."""
    head, _, last = name.rpartition(".")
    if name == "nn.dropout":
        return nn_dropout(reader, node)
    if head == "layers" and last in LAYERS:
        return network.layer_function(reader, node, LAYERS[last])
    if head == "layers" and last in LAYER_CLASSES:
        return network.layer_object(reader, node, LAYER_CLASSES[last])
    contrib = layer_of(name)
    return contrib_layer(reader, node, contrib) if contrib is not None else None


def _of_training(reader: ModelReader, node: cst.Call, name: str) -> Thing | None:
    """What a model is trained and measured with; None for anything else."""
    head, _, last = name.rpartition(".")
    if head in ("estimator", "contrib.learn") and last == "EstimatorSpec":
        return training.read_spec(reader, node)
    if head == "losses" or name.startswith("contrib.losses"):
        return training.read_loss(reader, node, last)
    if head == "metrics":
        return training.read_metric(reader, node, last)
    if head in ("train", "contrib.opt") and last.endswith("Optimizer"):
        return optimizers.read_optimizer(reader, node, last)
    if head == "train" and last in SCHEDULES:
        return optimizers.read_schedule(reader, node, last)
    return Logs() if name in LOGGING_HOOKS else None


def _brought_together(reader: ModelReader, node: cst.Call, name: str) -> Thing | None:
    """A training step in a group, or the losses of all samples as one number; None for anything else."""
    if name == "group":
        return _grouped(reader, node)
    if name == "reduce_sum":
        return _summed(reader, node)
    averaged = _averaged(node) if name == "reduce_mean" else None
    return training.read_mean(reader, node, averaged) if averaged is not None else None


def _of_graph(reader: ModelReader, node: cst.Call, name: str) -> Thing | None:
    """The global step, a collection, or the variables of the graph and a penalty of them; None for anything
    else."""
    if name in ("train.get_global_step", "train.get_or_create_global_step", "train.create_global_step"):
        return Step()
    if name == "get_collection":
        return _collection(reader, node)
    if name == "trainable_variables" and not node.args:
        return Variables()
    return _penalised(reader, node, name)


def _penalised(reader: ModelReader, node: cst.Call, name: str) -> Thing | None:
    """A penalty of the weights, and a loss with it, in a call that adds or multiplies; None for anything else."""
    if name not in ("add_n", "add", "reduce_sum", "multiply", "math.add_n", "math.add", "math.multiply"):
        return None
    first = node.args[0].value if node.args else None
    parts = [arg.value for arg in node.args]
    if isinstance(first, cst.List | cst.Tuple) and name.endswith("add_n"):
        parts = [element.value for element in first.elements]
    concerned = (*nodes_in(node, cst.Name), *calls_in(node))
    if not any(_is_penalty(reader, part) for part in concerned):
        return None
    things = [reader.read(part) for part in parts]
    if name.endswith("multiply") and len(things) == 2:
        (one, other), (left, right) = things, parts
        if isinstance(one, Penalty) and isinstance(other, Plain):
            return penalties.scaled(reader, one, right)
        if isinstance(other, Penalty) and isinstance(one, Plain):
            return penalties.scaled(reader, other, left)
        return None
    return penalties.added(reader, node, things)


def _is_penalty(reader: ModelReader, node: cst.BaseExpression) -> bool:
    """Whether a name or call stands for the weights, or what is computed of them."""
    if isinstance(node, cst.Name):
        return isinstance(within(reader.names.get(node.value, PLAIN), reader.modes), Penalty | Variables)
    return reader.symbol_of_call(node) == "trainable_variables"


def _summed(reader: ModelReader, node: cst.Call) -> OfSamples | None:
    """`tf.reduce_sum()` of the losses of all samples."""
    whole = _averaged(node)
    thing = reader.read(whole) if whole is not None else None
    return OfSamples(thing.mean, summed=True) if isinstance(thing, OfSamples) and not thing.summed else None


def _grouped(reader: ModelReader, node: cst.Call) -> TrainOp | None:
    """The training step in a group of it and updates; None for another group."""
    things = [reader.read(arg.value) for arg in node.args]
    reader.updates_are_run = reader.updates_are_run or any(isinstance(thing, Updates) for thing in things)
    steps = [thing for thing in things if isinstance(thing, TrainOp)]
    alone = len(steps) == 1 and all(isinstance(thing, TrainOp | Updates) for thing in things)
    return steps[0] if alone else None


def _collection(reader: ModelReader, node: cst.Call) -> Updates:
    """A collection of the graph, of which only that of updates is known."""
    collection = node.args[0].value if node.args else None
    if collection is not None and penalties.is_collection(reader, collection):
        raise reader.refuse(codes.ESTIMATOR_LOSS, node, penalties.PART)
    if collection is not None and (
        reader.symbol(collection) == "GraphKeys.UPDATE_OPS" or text_of(collection) == "update_ops"
    ):
        return Updates()
    raise reader.refuse(codes.NO_KERAS_LAYER, node, "a collection of the graph has no counterpart in Keras")


def _averaged(node: cst.Call) -> cst.BaseExpression | None:
    """What a call of tf.reduce_mean averages whole; None where it takes axes."""
    named = named_arguments(node, ("input_tensor", "axis", "keepdims", "name"))
    if named is None or "input_tensor" not in named or not set(named) <= {"input_tensor", "name"}:
        return None
    return named["input_tensor"].value
