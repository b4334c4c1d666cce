"""What calling a method does, by what it is called on."""

from __future__ import annotations

import libcst as cst

from tfmigrate.understand.assignments import assign
from tfmigrate.understand.classes import note_walked
from tfmigrate.understand.containers import item_of
from tfmigrate.understand.contents import all_models, all_opaque_sites, is_keras, models_of, sites_of
from tfmigrate.understand.functions import call_function
from tfmigrate.understand.joins import grown, join
from tfmigrate.understand.lifecycle import Use
from tfmigrate.understand.state import State, Walker
from tfmigrate.understand.tensors import combined, layered
from tfmigrate.understand.values import (
    NOTHING,
    Arguments,
    ClassValue,
    Dataset,
    EstimatorPart,
    FunctionValue,
    Instance,
    Items,
    Made,
    Mapping,
    Method,
    ModelObject,
    Opaque,
    Parallel,
    ScopeOf,
    StrategyObject,
    Value,
    Visible,
    in_order,
)
from tfmigrate.understand.wraps import template_by_name, template_by_position

_GROWING = frozenset({"append", "extend", "insert"})
_NO_DATASET = frozenset({"as_numpy_iterator", "cardinality", "get_single_element", "options", "reduce", "save"})
"""Methods of a dataset that return something else."""
_TENSORS_AT = {"get_input_at": "input", "get_output_at": "output"}
"""Methods of a model that return one of its tensors."""
_OF_NUMBERS = frozenset({"get_weights", "count_params"})
"""Methods of a layer that return arrays or numbers, and no tensors."""


def call_method(walker: Walker, method: Method, arguments: Arguments, node: cst.Call) -> Value:
    state, receiver, name = walker.state, method.receiver, method.name
    if method.function is not None:
        return _call_own(walker, receiver, method.function, arguments, node)
    if isinstance(receiver, Items) and name in _GROWING and arguments:
        return NOTHING  # See grow().
    if isinstance(receiver, Mapping) and name in ("values", "get", "items", "pop"):
        return _of_dict(receiver, name, tuple(value for _, value in arguments))
    if isinstance(receiver, ModelObject | Parallel):
        return _call_of_model(state, receiver, name, arguments, node)
    if isinstance(receiver, Dataset) and name not in _NO_DATASET:
        return Dataset((*receiver.batches, node)) if name in ("batch", "padded_batch") else receiver
    if isinstance(receiver, EstimatorPart) and (receiver.name, name) == ("RunConfig", "replace"):
        state.effects += 1
        state.program_facts.estimators.append(EstimatorPart(receiver.name, state.site, node, arguments, receiver))
        return state.program_facts.estimators[-1]
    if isinstance(receiver, EstimatorPart):
        state.effects += 1
        state.program_facts.estimator_uses.append(Use(name, node, state.site, receiver, arguments))
        if name == "train":
            return receiver
    if isinstance(receiver, StrategyObject) and name == "scope":
        return ScopeOf(receiver)
    if isinstance(receiver, Made) and receiver.kind == "layer":
        if name in _OF_NUMBERS:
            return Opaque(f"the result of {name}()", frozenset((state.site,)), node)
        return layered(state, receiver, arguments)
    if name == "list_devices" and isinstance(receiver, Opaque) and not arguments:
        return Visible("devices")  # of a session
    values = (receiver, *(value for _, value in arguments))
    if isinstance(receiver, Opaque) and receiver.settings and not any(map(is_keras, values)):
        return Opaque("a setting", node=node, settings=True)
    return combined(state, values, node)


def _call_own(walker: Walker, receiver: Value, function: FunctionValue, arguments: Arguments, node: cst.Call) -> Value:
    """A method that a class of the program defines."""
    owner = receiver.instance if isinstance(receiver, ModelObject) else receiver
    if isinstance(owner, Instance | ClassValue):
        note_walked(walker.state, owner.cls if isinstance(owner, Instance) else owner, function)
    return call_function(walker, function, ((None, receiver), *arguments), node)


def grow(walker: Walker, callee: Value, arguments: Arguments, node: cst.Call) -> None:
    """append(), insert() and extend(): what it is called on stands for a longer list from here, or for any of several,
    where it may have been any of several."""
    methods = [option for option in in_order(callee) if isinstance(option, Method) and option.function is None]
    lists = [method.receiver for method in methods if isinstance(method.receiver, Items) and method.name in _GROWING]
    if not lists or not arguments or not isinstance(node.func, cst.Attribute):
        return
    added = arguments[-1][1]
    more = (added,) if node.func.attr.value != "extend" else added.values if isinstance(added, Items) else ()
    receivers = [method.receiver for method in methods]
    lengthened = (grown(receiver, more) if isinstance(receiver, Items) else receiver for receiver in receivers)
    assign(walker, node.func.value, join(*lengthened))


def _call_of_model(
    state: State, receiver: ModelObject | Parallel, name: str, arguments: Arguments, node: cst.Call
) -> Value:
    if name == "add" and isinstance(receiver, ModelObject):
        values = [value for _, value in arguments]
        receiver.sites |= {state.site, *all_opaque_sites(values)}
        receiver.on |= all_models(values)
        return NOTHING
    if name == "build":
        state.builds(models_of(receiver))
    if name == "get_layer":
        template = template_by_name(state, receiver, arguments, node) if isinstance(receiver, Parallel) else None
        template = template or template_by_position(state, arguments, node)
        return template or Made("layer", "", sites_of(receiver), models_of(receiver))
    if name in _TENSORS_AT:
        return Made("tensor", _TENSORS_AT[name], sites_of(receiver), models_of(receiver))
    result = "predictions" if name == "predict" else f"the result of {name}()"
    return Opaque(result, frozenset((state.site,)), node)


def _of_dict(receiver: Mapping, name: str, arguments: tuple[Value, ...]) -> Value:
    """A value of a dict, all of them, or pairs of an unknown key and any of them."""
    if not receiver.values:
        return Items((), "list", counted=False) if name in ("values", "items") else Opaque("a value of a dict")
    if name == "values":
        return Items(receiver.values, "list")
    if name == "items":
        return Items((Items((Opaque("a key"), join(*receiver.values))),), "list", counted=False)
    return join(item_of(receiver, arguments[0] if arguments else None), *arguments[1:])
