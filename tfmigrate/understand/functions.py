"""Functions of the program: defined where they stand, and walked in place when they are called."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import libcst as cst

from tfmigrate.understand.contents import holds_model, is_keras
from tfmigrate.understand.joins import join
from tfmigrate.understand.ordering import in_order
from tfmigrate.understand.other_data import value_for, with_data
from tfmigrate.understand.parameters import nameable, positional
from tfmigrate.understand.state import State, Walker
from tfmigrate.understand.summaries import renewed, summarised
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import (
    NOTHING,
    Arguments,
    ClassValue,
    Frame,
    FunctionValue,
    Instance,
    Made,
    Mapping,
    Opaque,
    Parameter,
    Site,
    Value,
)


def name_of(function: FunctionValue) -> str:
    return function.node.name.value if isinstance(function.node, cst.FunctionDef) else "<lambda>"


def decorators(function: FunctionValue) -> Sequence[cst.Decorator]:
    return function.node.decorators if isinstance(function.node, cst.FunctionDef) else ()


def has_decorator(function: FunctionValue, name: str) -> bool:
    return any(dotted(item.decorator) == name for item in decorators(function))


def sees_object(method: FunctionValue) -> bool:
    """Whether a method is given its object or its class, so that it may do something else in a derived class."""
    return bool(positional(method.node.params)) and not has_decorator(method, "staticmethod")


def define(walker: Walker, unit: cst.FunctionDef, owner: ClassValue | None = None) -> FunctionValue:
    """`def`; `owner`: the class whose method it is."""
    state = walker.state
    for decorator in unit.decorators:
        walker.evaluate(decorator.decorator)
    for parameter in nameable(unit.params):
        if parameter.default is not None:
            walker.evaluate(parameter.default)
    function = FunctionValue(unit, state.frame, owner)
    state.functions.append(function)
    if owner is None:
        state.bind(unit.name.value, function)
    return function


def walk_lambda(walker: Walker, node: cst.Lambda) -> FunctionValue:
    """A lambda is walked where it stands, since what calls it is seldom known."""
    state = walker.state
    function = FunctionValue(node, state.frame)
    if node not in state.entered:
        enter(walker, function, unknown_arguments(walker, function), state.site, None)
    return function


def call_function(walker: Walker, function: FunctionValue, arguments: Arguments, node: cst.Call | None) -> Value:
    """What a call of a function of the program returns. `node`: the call; a property has none."""
    state = walker.state
    if not state.may_enter(function):
        return Opaque("a recursive call", frozenset((state.site,)))
    # A summary was made without a model at hand: what the function does to one is noted at each call that brings it.
    brings_model = any(holds_model(argument) for _, argument in arguments)
    objects = _objects_in(state, arguments)
    summary, here = state.summaries.get(function.node), state.site
    if summary is not None and not brings_model and summary.objects == objects and state.still_reads(summary.read):
        walk_again = partial(enter, walker, function, call=here, call_node=node)
        other = value_for(state, function, summary, arguments, walk_again)
        if holds_model(summary.value) or not holds_model(other):
            return with_data(renewed(state, summary, arguments, node if node is not None else function.node), other)
    before, models = _footprint(state), len(state.program_facts.models)
    with state.noting_reads() as read:
        value = enter(walker, function, arguments, here, node)
    plain = _footprint(state) == before
    if plain and not brings_model:
        models_made = state.program_facts.models[models:]
        state.summaries[function.node] = summarised(value, here, models_made, arguments, objects, read)
    return value


def _objects_in(state: State, arguments: Arguments) -> tuple[Instance | Opaque | Parameter, ...]:
    """What a call is given whose attributes are followed."""
    passed = [option for _, argument in arguments for option in in_order(argument)]
    return tuple(option for option in passed if isinstance(option, Instance) or option in state.holders)


def _footprint(state: State) -> tuple[int, int]:
    """Changes with everything a call can do beside returning a value."""
    return len(state.program_facts.wraps), state.effects


def enter(
    walker: Walker, function: FunctionValue, arguments: Arguments, call: Site | None, call_node: cst.Call | None
) -> Value:
    """Walk a function's body with these arguments and return what it returns.

    `call`: where its caller stands; None for what no known code calls.
    """
    state = walker.state
    state.entered.add(function.node)
    receiver = arguments[0][1] if function.owner is not None and arguments else None
    frame = Frame(function.module, function.node, function.closure, call, call_node, function.owner, receiver)
    with state.activation(frame) as returns:
        _bind_parameters(walker, function, arguments, frame)
        if isinstance(function.node, cst.Lambda):
            state.unit = call.unit if call is not None else state.unit
            return walker.evaluate(function.node.body)
        walker.block(function.node.body)
        if function.is_generator:
            return Made("generator", name_of(function), frozenset(), source=function.node)
        return join(*returns) if returns else NOTHING


def unknown_arguments(walker: Walker, function: FunctionValue) -> Arguments:
    """What an unknown caller may pass; a part of a model that is the default may be meant too."""
    frame = Frame(function.module, function.node, function.closure, owner=function.owner)
    values: list[Value] = []
    for parameter in positional(function.node.params):
        default = _default(walker, parameter.default, function) if parameter.default is not None else NOTHING
        unknown = _annotated(walker, parameter, function) or Parameter(frame, parameter.name.value)
        values.append(join(default, unknown) if is_keras(default) else unknown)
    return tuple((None, value) for value in values)


def _annotated(walker: Walker, parameter: cst.Param, function: FunctionValue) -> Value | None:
    """The objects of the class of the program, and of those derived from it, that a parameter is annotated with."""
    cls = annotation(walker, parameter, function)
    instances = walker.state.instances
    receivers = [instances[instance] for instance in instances if cls is not None and cls in instance.ancestors()]
    return join(*receivers) if receivers else None


def annotation(walker: Walker, parameter: cst.Param, function: FunctionValue) -> ClassValue | None:
    """The class of the program that a parameter is annotated with."""
    node = parameter.annotation.annotation if parameter.annotation is not None else None
    if not isinstance(node, cst.Name | cst.Attribute):
        return None
    with walker.state.elsewhere(frame=function.closure):
        value = walker.evaluate(node)
    return value if isinstance(value, ClassValue) else None


def _bind_parameters(walker: Walker, function: FunctionValue, arguments: Arguments, frame: Frame) -> None:
    store, params = walker.state.store, function.node.params
    declared = positional(params)
    by_position = [value for keyword, value in arguments if keyword is None]
    by_name = {keyword: value for keyword, value in arguments if keyword is not None}
    spread = "*" in by_name or "**" in by_name
    for position, parameter in enumerate(nameable(params)):
        name = parameter.name.value
        if position < len(by_position) and position < len(declared):
            value = by_position[position]
        elif name in by_name:
            value = by_name[name]
        elif parameter.default is not None and not spread:
            value = _default(walker, parameter.default, function)
        else:
            value = Parameter(frame, name)
        store[(frame, name)] = value
    if isinstance(params.star_arg, cst.Param):
        store[(frame, params.star_arg.name.value)] = Opaque("extra arguments")
    if params.star_kwarg is not None:
        named = {parameter.name.value for parameter in nameable(params)}
        extra = {keyword: value for keyword, value in by_name.items() if keyword not in named}
        known = "**" not in extra and "*" not in extra
        unknown = Opaque("extra arguments")
        store[(frame, params.star_kwarg.name.value)] = (
            Mapping(tuple(extra), tuple(extra.values())) if known and extra else unknown
        )


def _default(walker: Walker, node: cst.BaseExpression, function: FunctionValue) -> Value:
    """A parameter's default, which is made once, where the function is defined."""
    unit = function.node if isinstance(function.node, cst.FunctionDef) else None
    with walker.state.elsewhere(frame=function.closure, unit=unit):
        return walker.evaluate(node)
