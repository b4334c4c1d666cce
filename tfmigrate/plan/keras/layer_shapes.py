"""`layer.output_shape`, `layer.get_output_at(0)`: what a layer of Keras 2 said of its calls."""

from __future__ import annotations

from collections.abc import Container, Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import keywords, text_of
from tfmigrate.plan.data.only_output import has_one_input
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.sequential_tensors import models_meant, tensor_of
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.layers_named import is_layer_of_model, is_one_of_layers, is_surely_layer
from tfmigrate.understand.syntax import last_attribute
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
    set_here = {assigned.target for assigned in facts.module.all_of(cst.AssignTarget)}
    if ".input" in facts.module.text:
        yield from _inputs_of_first(context, set_here)
    if not any(name in facts.module.text for name in (*_TENSORS, *_CALLS)):
        return
    for node in facts.module.all_of(cst.Attribute):
        if node.attr.value in _TENSORS and node not in set_here and is_surely_layer(node.value, facts, context.loops):
            yield _of_layer(node, node.value, _TENSORS[node.attr.value], f"`{node.attr.value}`", context)
    for call in facts.module.calls:
        func = call.func
        if isinstance(func, cst.Attribute) and func.attr.value in _CALLS and len(call.args) == 1:
            yield _of_call(call, func, context)


def _inputs_of_first(context: Context, set_here: Container[cst.CSTNode]) -> Iterator[CallChange]:
    """`model.layers[0].input`, `model.get_layer("image").input`, where the layer is, or may be, an InputLayer."""
    named = set(_names_of_inputs(context))
    for node in context.facts.module.all_of(cst.Attribute):
        if node.attr.value != "input" or node in set_here:
            continue
        model = _model_of_first(node.value)
        code: Code | None = None
        if model is not None:
            models = models_meant(model, context)
            sure = {one for one in models if one is not None}
            if None not in models and all(names.canonical(one.maker) == _SEQUENTIAL for one in sure):
                continue  # Its first layer is no InputLayer.
            several = None not in models and has_one_input(sure, context.facts, context.modules) is False
            code = (node.value, ".output") if several else (model, ".inputs[0]")
        elif isinstance(node.value, cst.Call) and last_attribute(node.value.func) == "get_layer":
            given = {
                text_of(arg.value) for arg in node.value.args if arg.keyword is None or arg.keyword.value == "name"
            }
            code = (node.value, ".output") if given & named else None
        if code is not None:
            message = f"the `input` of an InputLayer is empty in Keras 3: `{shown(code)}` is the tensor that is meant"
            yield CallChange(codes.LAYER_SHAPES, node, message, Replace(node, code))


_SEQUENTIAL = "keras.models.Sequential"
_INPUTS = frozenset({"keras.Input", "keras.layers.Input", "keras.layers.InputLayer"})


def _names_of_inputs(context: Context) -> Iterator[str]:
    for call in context.facts.module.calls:
        if context.facts.canonical(call.func) in _INPUTS:
            given = keywords(call).get("name")
            name = text_of(given.value) if given is not None else None
            if name is not None:
                yield name


def _of_call(call: cst.Call, func: cst.Attribute, context: Context) -> CallChange:
    method, index = func.attr.value, call.args[0].value
    tensor, title = _CALLS[method], f"`{method}()`"
    if not isinstance(index, cst.Integer) or index.evaluated_value != 0:
        message = f"Keras 3 has no {title}: `{tensor}` is that of the first call; for another one, keep its result"
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
            f"layers of Keras 3 have no {title}: use `input.shape` if a layer has one input; InputLayer only has "
            "`output.shape`, and the `input` of a layer with several is a list"
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
