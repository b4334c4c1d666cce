"""`layer.output_shape`, `layer.get_output_at(0)`: what a layer of Keras 2 said of its calls."""

from __future__ import annotations

from collections.abc import Iterator, Set

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.sequential_tensors import tensor_of
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.program import dotted
from tfmigrate.understand.values import Made, ModelObject, Parallel
from tfmigrate.walk import walk
from tfmigrate.written import Code, shown

_TENSORS = {"output_shape": "output", "input_shape": "input"}
_CALLS = {
    "get_output_at": "output", "get_input_at": "input",
    "get_output_shape_at": "output", "get_input_shape_at": "input",
}  # fmt: skip
"""Methods that take the number of a call, and the tensor of Keras 3 that the first call made or took."""
_LISTING = frozenset({"enumerate", "reversed", "list"})


def check(context: Context) -> Iterator[CallChange]:
    facts = context.facts
    if not any(name in facts.module.text for name in (*_TENSORS, *_CALLS)):
        return
    each = _each_of_layers(facts)
    set_here = {target.target for assign in facts.module.all_of(cst.Assign) for target in assign.targets}
    for node in facts.module.all_of(cst.Attribute):
        if node.attr.value in _TENSORS and node not in set_here and _is_layer(node.value, facts, each):
            yield _of_layer(node, node.value, _TENSORS[node.attr.value], f"`{node.attr.value}`", each)
    for call in facts.module.calls:
        func = call.func
        if isinstance(func, cst.Attribute) and func.attr.value in _CALLS and len(call.args) == 1:
            yield _of_call(call, func, context, each)


def _of_call(call: cst.Call, func: cst.Attribute, context: Context, each: Set[cst.CSTNode]) -> CallChange:
    method, index = func.attr.value, call.args[0].value
    tensor, title = _CALLS[method], f"`{method}()`"
    if not isinstance(index, cst.Integer) or index.evaluated_value != 0:
        message = f"Keras 3 has no {title}: `{tensor}` is that of the first call; of another, keep what it returned"
        return CallChange(codes.LAYER_SHAPES, call, message, action="warn")
    if not method.endswith("shape_at"):
        return _change(call, (func.value, f".{tensor_of(func.value, tensor, context)}"), title)
    if any(isinstance(option, ModelObject | Parallel) for option in context.facts.options(func.value)):
        return _change(call, (func.value, f".{tensor}_shape"), title)
    return _of_layer(call, func.value, tensor, title, each)


def _of_layer(
    node: cst.BaseExpression, layer: cst.BaseExpression, tensor: str, title: str, each: Set[cst.CSTNode]
) -> CallChange:
    """The shape of a layer's first input or output."""
    model = _model_of_first(layer)
    if tensor == "input" and model is not None:  # it may be an InputLayer, which has no `input` in Keras 3
        return _change(node, (model, ".input_shape"), title)
    if tensor == "input" and layer in each:
        message = (
            f"layers of Keras 3 have no {title}: it is `input.shape` where a layer has one input; InputLayer has only "
            "`output.shape`, and the `input` of a layer of several is a list"
        )
        return CallChange(codes.LAYER_SHAPES, node, message, action="warn")
    return _change(node, (layer, f".{tensor}.shape"), title)


def _change(node: cst.BaseExpression, code: Code, title: str) -> CallChange:
    message = f"Keras 3 has no {title} of a layer's call: `{shown(code)}` is the same"
    return CallChange(codes.LAYER_SHAPES, node, message, Replace(node, code))


def _is_layer(node: cst.BaseExpression, facts: Facts, each: Set[cst.CSTNode]) -> bool:
    values = facts.options(node)
    if any(isinstance(value, ModelObject | Parallel) for value in values):
        return False
    layers = [isinstance(value, Made) and value.kind == "layer" for value in values]
    return (bool(layers) and all(layers)) or node in each or _is_found(node)


def _is_found(node: cst.BaseExpression) -> bool:
    """`model.layers[3]`, `model.get_layer("conv")`."""
    if isinstance(node, cst.Subscript):
        return _is_layers(node.value) and len(node.slice) == 1 and isinstance(node.slice[0].slice, cst.Index)
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "get_layer"


def _model_of_first(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """The model of `model.layers[0]`."""
    if isinstance(node, cst.Subscript) and isinstance(node.value, cst.Attribute) and _is_found(node):
        index = node.slice[0].slice
        if isinstance(index, cst.Index) and isinstance(index.value, cst.Integer) and index.value.evaluated_value == 0:
            return node.value.value
    return None


def _is_layers(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Attribute) and node.attr.value == "layers"


def _each_of_layers(facts: Facts) -> set[cst.CSTNode]:
    """The variable of `for layer in model.layers`, wherever it is read in the loop."""
    module = facts.module
    found: set[cst.CSTNode] = set()
    for holder in (
        *module.all_of(cst.For),
        *module.all_of(cst.ListComp, cst.SetComp, cst.GeneratorExp),
        *module.all_of(cst.DictComp),
    ):
        loop = holder if isinstance(holder, cst.For) else holder.for_in
        name = _variable(loop.target, loop.iter)
        found.update(part for part in walk(holder) if isinstance(part, cst.Name) and part.value == name)
    return found


def _variable(target: cst.BaseExpression, listed: cst.BaseExpression) -> str | None:
    while isinstance(listed, cst.Call) and dotted(listed.func) in _LISTING and len(listed.args) == 1:
        if dotted(listed.func) == "enumerate":
            if not isinstance(target, cst.Tuple) or len(target.elements) != 2:
                return None
            target = target.elements[1].value
        listed = listed.args[0].value
    if isinstance(listed, cst.Subscript):
        listed = listed.value
    return target.value if isinstance(target, cst.Name) and _is_layers(listed) else None
