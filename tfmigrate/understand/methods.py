"""What calling a method does, by what it is called on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import libcst as cst

from tfmigrate.understand.assignments import assign
from tfmigrate.understand.classes import note_walked
from tfmigrate.understand.containers import item_of
from tfmigrate.understand.contents import all_models, all_opaque_sites, is_keras, models_of, sites_of
from tfmigrate.understand.functions import call_function
from tfmigrate.understand.joins import grown, join
from tfmigrate.understand.lifecycle import Use
from tfmigrate.understand.ordering import in_order
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
    Partial,
    ScopeOf,
    StrategyObject,
    Value,
    Visible,
    is_tensor,
    options,
)
from tfmigrate.understand.wraps import template_by_name, template_by_position

_GROWING = frozenset({"append", "extend", "insert"})
_NO_DATASET = frozenset({"as_numpy_iterator", "cardinality", "get_single_element", "options", "reduce", "save"})
"""Methods of a dataset that return something else."""
_TENSORS_AT = {"get_input_at": "input", "get_output_at": "output"}
"""Methods of a model that return one of its tensors."""
_OF_NUMBERS = frozenset({"get_weights", "count_params"})
"""Methods of a layer that return arrays or numbers, and no tensors."""


@dataclass(frozen=True)
class _Call:
    """A call of a method that no code of the program defines."""

    state: State
    name: str
    arguments: Arguments
    node: cst.Call

    @property
    def values(self) -> tuple[Value, ...]:
        return tuple(value for _, value in self.arguments)

    @property
    def result(self) -> Opaque:
        """What it returns where that is a number, an array, ..."""
        return Opaque(f"the result of {self.name}()", frozenset((self.state.site,)), self.node)


def call_method(walker: Walker, method: Method, arguments: Arguments, node: cst.Call) -> Value:
    state, receiver = walker.state, method.receiver
    if method.function is not None:
        return _call_own(walker, receiver, method.function, arguments, node)
    call = _Call(state, method.name, arguments, node)
    known = _KNOWN.get(type(receiver))
    return (known(receiver, call) if known is not None else None) or combined(state, (receiver, *call.values), node)


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


def _of_items(receiver: Items, call: _Call) -> Value | None:
    return NOTHING if call.name in _GROWING and call.arguments else None  # See grow().


def _of_dict(receiver: Mapping, call: _Call) -> Value | None:
    """A value of a dict, all of them, or pairs of an unknown key and any of them."""
    if call.name not in ("values", "get", "items", "pop"):
        return None
    if not receiver.values:
        return Items((), "list", counted=False) if call.name in ("values", "items") else Opaque("a value of a dict")
    if call.name == "values":
        return Items(receiver.values, "list")
    if call.name == "items":
        return Items((Items((Opaque("a key"), join(*receiver.values))),), "list", counted=False)
    return join(item_of(receiver, call.values[0] if call.values else None), *call.values[1:])


def _of_model(receiver: ModelObject | Parallel, call: _Call) -> Value:
    state, name = call.state, call.name
    if name == "add" and isinstance(receiver, ModelObject):
        receiver.sites |= {state.site, *all_opaque_sites(call.values)}
        receiver.on |= all_models(call.values)
        return NOTHING
    if name == "build":
        state.builds(models_of(receiver))
    if name == "get_layer":
        named = isinstance(receiver, Parallel) and template_by_name(state, receiver, call.arguments, call.node)
        template = named or template_by_position(state, call.arguments, call.node)
        return template or Made("layer", "", sites_of(receiver), models_of(receiver))
    if name in _TENSORS_AT:
        return Made("tensor", _TENSORS_AT[name], sites_of(receiver), models_of(receiver))
    return replace(call.result, origin="predictions") if name == "predict" else call.result


def _of_dataset(receiver: Dataset, call: _Call) -> Dataset | None:
    if call.name in _NO_DATASET:
        return None
    return Dataset((*receiver.batches, call.node)) if call.name in ("batch", "padded_batch") else receiver


def _of_estimator(receiver: EstimatorPart, call: _Call) -> EstimatorPart | None:
    state = call.state
    state.effects += 1
    if (receiver.name, call.name) == ("RunConfig", "replace"):
        part = EstimatorPart(receiver.name, state.site, call.node, call.arguments, receiver)
        state.program_facts.estimators.append(part)
        return part
    use = Use(call.name, call.node, state.site, receiver, call.arguments, state.program_facts.wraps)
    state.program_facts.estimator_uses.append(use)
    return receiver if call.name == "train" else None


def _of_strategy(receiver: StrategyObject, call: _Call) -> ScopeOf | None:
    return ScopeOf(receiver) if call.name == "scope" else None


def _of_layer(receiver: Made, call: _Call) -> Value | None:
    if receiver.kind != "layer":
        return None
    return call.result if call.name in _OF_NUMBERS else layered(call.state, receiver, call.arguments)


def _of_opaque(receiver: Opaque, call: _Call) -> Value | None:
    if call.name == "list_devices" and not call.arguments:
        return Visible("devices")  # of a session
    if receiver.settings and not any(map(is_keras, (receiver, *call.values))):
        return Opaque("a setting", node=call.node, settings=True)
    if any(is_tensor(option) for value in call.values for option in options(value)):
        return layered(call.state, receiver, call.arguments)  # `holder.model(x)` of an unknown holder
    return None


_KNOWN: dict[type, Callable[[Any, _Call], Value | None]] = {
    Items: _of_items,
    Mapping: _of_dict,
    ModelObject: _of_model,
    Parallel: _of_model,
    Dataset: _of_dataset,
    EstimatorPart: _of_estimator,
    StrategyObject: _of_strategy,
    Made: _of_layer,
    Opaque: _of_opaque,
    Partial: _of_opaque,
}
"""What a method returns, by what it is called on; None for a combination of that and its arguments."""
