"""Copies of multi_gpu_model that projects keep of their own, recognised by what they do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

import libcst as cst

from tfmigrate.understand.blocks import only_statement, units_of
from tfmigrate.understand.lifecycle import Together
from tfmigrate.understand.parameters import first_parameter, positional
from tfmigrate.understand.syntax import dotted, last_word
from tfmigrate.walk import calls_in, nodes_in, values_returned, walk


def is_copy(function: cst.FunctionDef | cst.Lambda) -> bool:
    """Whether a function does what Keras's does: calls its model once per device, joins the outputs, returns a Model.

    It must take the model first, and the number of devices second where it does not count them itself, place calls of
    the model under a device inside a loop, concatenate, and build a Model from the result.
    """
    if not isinstance(function, cst.FunctionDef):
        return False
    parameters = [param.name.value for param in positional(function.params)]
    if not parameters or any("gpu" not in name.lower() for name in parameters[1:2]):
        return False
    called = {last_word(part.func) for part in calls_in(function)}
    return calls_on_devices(function, frozenset(parameters[:1])) and joins_outputs(function) and "Model" in called


def calls_on_devices(code: cst.CSTNode, models: Set[str]) -> bool:
    """Whether code calls one of the models with these names (`model`, `self.inner`) under a device inside a loop."""
    blocks = (part for loop in nodes_in(code, cst.For) for part in walk(loop) if _places_on_device(part))
    return any(isinstance(part, cst.Call) and dotted(part.func) in models for block in blocks for part in walk(block))


def joins_outputs(code: cst.CSTNode) -> bool:
    """Whether code puts the outputs of the devices together."""
    called = {last_word(part.func) for part in calls_in(code)}
    return bool(called & {"concatenate", "Concatenate", "merge", "concat"})


def returns_plain_alone(function: cst.FunctionDef | cst.Lambda) -> bool:
    """Whether a copy gives its model back as it is for one device: `if gpus <= 1: return model`."""
    if not isinstance(function, cst.FunctionDef) or len(positional(function.params)) < 2:
        return False
    model, gpus = (param.name.value for param in positional(function.params)[:2])
    for unit in units_of(function.body):
        last = units_of(unit.body)[-1] if isinstance(unit, cst.If) and units_of(unit.body) else None
        small = only_statement(last) if last is not None else None
        if isinstance(unit, cst.If) and isinstance(small, cst.Return) and _is_plain(small.value, model):
            if _asks_for_one(unit.test, gpus):
                return True
    return False


def returned_by(function: cst.FunctionDef | cst.Lambda) -> Together | str | None:
    """The tuple or list a copy returns; None for one that returns a model, and why not where it cannot be told."""
    if not isinstance(function, cst.FunctionDef):
        return None
    assigned: dict[str, list[cst.BaseExpression]] = {}
    for node in nodes_in(function.body, cst.Assign):
        for target in node.targets:
            assigned.setdefault(dotted(target.target), []).append(node.value)
    returned = [_resolved(value, assigned) for value in values_returned(function.body) if value is not None]
    if not any(_holds_several(value) for value in returned):
        return None
    parts = [_elements(value, function, assigned) for value in returned]
    known = [part for part in parts if part is not None]
    kinds = {(part.kind, len(part.parallel)) for part in known}
    if len(known) < len(parts) or len(kinds) != 1:
        gives = f"{function.name.value}() returns more than the parallel model and the model itself"
        return f"{gives}: let it return the parallel model"
    parallel = tuple(map(any, zip(*(part.parallel for part in known), strict=True)))
    return Together(known[0].kind, parallel)


def _resolved(value: cst.BaseExpression, assigned: Mapping[str, Sequence[cst.BaseExpression]]) -> cst.BaseExpression:
    """`both`, after `both = new, model`, and its like: what several are bound to where a name is bound once."""
    bound = assigned.get(dotted(value), ())
    return bound[0] if len(bound) == 1 and _holds_several(bound[0]) else value


def _holds_several(value: cst.BaseExpression) -> bool:
    written = isinstance(value, cst.Tuple | cst.List | cst.Dict)
    return written or (isinstance(value, cst.Call) and dotted(value.func) in ("dict", "list", "tuple"))


def _elements(
    value: cst.BaseExpression, function: cst.FunctionDef, assigned: Mapping[str, Sequence[cst.BaseExpression]]
) -> Together | None:
    """A tuple or list of nothing but the model that a copy is given and the one that it makes."""
    if not isinstance(value, cst.Tuple | cst.List):
        return None
    template = first_parameter(function)
    parallel = []
    for element in value.elements:
        name = dotted(element.value)
        made = assigned.get(name, ()) if name else (element.value,)
        if made and all(map(_makes_model, made)):
            parallel.append(True)
        elif name == template and template not in assigned:
            parallel.append(False)
        else:
            return None
    return Together("tuple" if isinstance(value, cst.Tuple) else "list", tuple(parallel))


def _makes_model(value: cst.BaseExpression) -> bool:
    return isinstance(value, cst.Call) and last_word(value.func) == "Model"


def _is_plain(value: cst.BaseExpression | None, model: str) -> bool:
    """`model`, and `model, model`"""
    if isinstance(value, cst.Tuple | cst.List):
        return all(dotted(element.value) == model for element in value.elements)
    return dotted(value) == model


def _asks_for_one(test: cst.BaseExpression, gpus: str) -> bool:
    """`gpus <= 1`, `gpus < 2`, `gpus == 1`"""
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1 or dotted(test.left) != gpus:
        return False
    target = test.comparisons[0]
    limits = {cst.LessThanEqual: "1", cst.LessThan: "2", cst.Equal: "1"}
    limit = limits.get(type(target.operator))
    return isinstance(target.comparator, cst.Integer) and target.comparator.value == limit


def _places_on_device(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.With) and any(
        isinstance(item.item, cst.Call) and last_word(item.item.func) == "device" for item in node.items
    )
