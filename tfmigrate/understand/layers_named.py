"""Whether an expression is a layer of Keras."""

from __future__ import annotations

import libcst as cst

from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.loops import Loops, PartOf
from tfmigrate.understand.syntax import index_of, last_attribute
from tfmigrate.understand.values import Made, ModelObject, Parallel


def is_surely_layer(node: cst.BaseExpression, facts: Facts, loops: Loops) -> bool:
    """Whether it is made by Keras or taken from a model, and no model itself."""
    values = facts.options(node)
    if any(isinstance(value, ModelObject | Parallel) for value in values):
        return False
    layers = [isinstance(value, Made) and value.kind == "layer" for value in values]
    return (bool(layers) and all(layers)) or is_layer_of_model(node) or is_one_of_layers(node, loops)


def is_layer_of_model(node: cst.BaseExpression) -> bool:
    """`model.layers[3]`, `model.get_layer("conv")`."""
    if isinstance(node, cst.Subscript):
        return _are_layers(node.value) and index_of(node) is not None
    return isinstance(node, cst.Call) and last_attribute(node.func) == "get_layer"


def is_one_of_layers(node: cst.BaseExpression, loops: Loops) -> bool:
    """The variable of `for layer in model.layers`."""
    return any(isinstance(value, PartOf) and _are_layers(value.node) for value in loops.taken(node))


def _are_layers(node: cst.BaseExpression) -> bool:
    return last_attribute(node) == "layers"
