"""`layer.output_shape`, `layer.get_output_at(0)`: what a layer of Keras 2 said of its calls."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.sequential_tensors import tensor_of
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.layers_named import is_layer_of_model, is_one_of_layers, is_surely_layer
from tfmigrate.understand.values import ModelObject, Parallel
from tfmigrate.written import Code, shown

_TENSORS = {"output_shape": "output", "input_shape": "input"}
_CALLS = {
    "get_output_at": "output", "get_input_at": "input",
    "get_output_shape_at": "output", "get_input_shape_at": "input",
}  # fmt: skip
"""Methods that take the number of a call, and the tensor of Keras 3 that the first call made or took."""


def check(context: Context) -> Iterator[CallChange]:
    facts = context.facts
    if not any(name in facts.module.text for name in (*_TENSORS, *_CALLS)):
        return
    set_here = {assigned.target for assigned in facts.module.all_of(cst.AssignTarget)}
    for node in facts.module.all_of(cst.Attribute):
        if node.attr.value in _TENSORS and node not in set_here and is_surely_layer(node.value, facts, context.loops):
            yield _of_layer(node, node.value, _TENSORS[node.attr.value], f"`{node.attr.value}`", context)
    for call in facts.module.calls:
        func = call.func
        if isinstance(func, cst.Attribute) and func.attr.value in _CALLS and len(call.args) == 1:
            yield _of_call(call, func, context)


def _of_call(call: cst.Call, func: cst.Attribute, context: Context) -> CallChange:
    method, index = func.attr.value, call.args[0].value
    tensor, title = _CALLS[method], f"`{method}()`"
    if not isinstance(index, cst.Integer) or index.evaluated_value != 0:
        message = f"Keras 3 has no {title}: `{tensor}` is that of the first call; of another, keep what it returned"
        return CallChange(codes.LAYER_SHAPES, call, message, action="warn")
    if not method.endswith("shape_at"):
        return _change(call, (func.value, f".{tensor_of(func.value, tensor, context)}"), title)
    if any(isinstance(option, ModelObject | Parallel) for option in context.facts.options(func.value)):
        return _change(call, (func.value, f".{tensor}_shape"), title)
    return _of_layer(call, func.value, tensor, title, context)


def _of_layer(
    node: cst.BaseExpression, layer: cst.BaseExpression, tensor: str, title: str, context: Context
) -> CallChange:
    """The shape of a layer's first input or output."""
    model = _model_of_first(layer)
    if tensor == "input" and model is not None:  # it may be an InputLayer, which has no `input` in Keras 3
        return _change(node, (model, ".input_shape"), title)
    if tensor == "input" and is_one_of_layers(layer, context.loops):
        message = (
            f"layers of Keras 3 have no {title}: it is `input.shape` where a layer has one input; InputLayer has only "
            "`output.shape`, and the `input` of a layer of several is a list"
        )
        return CallChange(codes.LAYER_SHAPES, node, message, action="warn")
    return _change(node, (layer, f".{tensor}.shape"), title)


def _change(node: cst.BaseExpression, code: Code, title: str) -> CallChange:
    message = f"Keras 3 has no {title} of a layer's call: `{shown(code)}` is the same"
    return CallChange(codes.LAYER_SHAPES, node, message, Replace(node, code))


def _model_of_first(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """The model of `model.layers[0]`."""
    if isinstance(node, cst.Subscript) and isinstance(node.value, cst.Attribute) and is_layer_of_model(node):
        index = node.slice[0].slice
        if isinstance(index, cst.Index) and isinstance(index.value, cst.Integer) and index.value.evaluated_value == 0:
            return node.value.value
    return None
