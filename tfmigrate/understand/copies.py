"""Copies of multi_gpu_model that projects keep of their own, recognised by what they do."""

from __future__ import annotations

import libcst as cst

from tfmigrate.understand.program import dotted, only_statement, units_of
from tfmigrate.walk import calls_in, nodes_in, walk


def is_copy(function: cst.FunctionDef | cst.Lambda) -> bool:
    """Whether a function does what Keras's does: calls its model once per device, joins the outputs, returns a Model.

    It must take the model first, and the number of devices second where it does not count them itself, place calls of
    the model under a device inside a loop, concatenate, and build a Model from the result.
    """
    if not isinstance(function, cst.FunctionDef):
        return False
    parameters = [param.name.value for param in (*function.params.posonly_params, *function.params.params)]
    if not parameters or any("gpu" not in name.lower() for name in parameters[1:2]):
        return False
    under_device = [part for loop in _loops(function) for part in walk(loop) if _places_on_device(part)]
    calls_model = any(
        isinstance(part, cst.Call) and isinstance(part.func, cst.Name) and part.func.value == parameters[0]
        for block in under_device
        for part in walk(block)
    )
    called = {_last_name(part.func) for part in calls_in(function)}
    return calls_model and bool(called & {"concatenate", "Concatenate", "merge", "concat"}) and "Model" in called


def returns_plain_alone(function: cst.FunctionDef | cst.Lambda) -> bool:
    """Whether a copy gives its model back as it is for one device: `if gpus <= 1: return model`."""
    if not isinstance(function, cst.FunctionDef) or len(function.params.params) < 2:
        return False
    model, gpus = (param.name.value for param in function.params.params[:2])
    for unit in units_of(function.body):
        last = units_of(unit.body)[-1] if isinstance(unit, cst.If) and units_of(unit.body) else None
        small = only_statement(last) if last is not None else None
        if isinstance(unit, cst.If) and isinstance(small, cst.Return) and dotted(small.value) == model:
            if _asks_for_one(unit.test, gpus):
                return True
    return False


def _asks_for_one(test: cst.BaseExpression, gpus: str) -> bool:
    """`gpus <= 1`, `gpus < 2`, `gpus == 1`"""
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1 or dotted(test.left) != gpus:
        return False
    target = test.comparisons[0]
    limits = {cst.LessThanEqual: "1", cst.LessThan: "2", cst.Equal: "1"}
    limit = limits.get(type(target.operator))
    return isinstance(target.comparator, cst.Integer) and target.comparator.value == limit


def _loops(function: cst.FunctionDef) -> list[cst.For]:
    return nodes_in(function, cst.For)


def _places_on_device(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.With) and any(
        isinstance(item.item, cst.Call) and _last_name(item.item.func) == "device" for item in node.items
    )


def _last_name(node: cst.BaseExpression) -> str:
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""
