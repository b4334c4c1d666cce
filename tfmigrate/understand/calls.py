"""What a call returns, by what is called; what is called on models is noted."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.understand import containers, machine, names
from tfmigrate.understand.assignments import set_by_name
from tfmigrate.understand.blocks import Unit, only_statement
from tfmigrate.understand.classes import instantiate, seen_as_base
from tfmigrate.understand.contents import is_keras, models_of
from tfmigrate.understand.copies import is_copy, returned_by, returns_plain_alone
from tfmigrate.understand.functions import call_function, name_of
from tfmigrate.understand.joins import join
from tfmigrate.understand.library import call_library
from tfmigrate.understand.lifecycle import MODEL_METHODS, TRAINING, Use
from tfmigrate.understand.methods import call_method, grow
from tfmigrate.understand.ordering import in_order
from tfmigrate.understand.origins import may_be_model
from tfmigrate.understand.parameters import positional
from tfmigrate.understand.state import State, Walker
from tfmigrate.understand.tensors import combined, layered
from tfmigrate.understand.values import (
    Arguments,
    ClassValue,
    FunctionValue,
    Made,
    Mapping,
    Method,
    ModelObject,
    Opaque,
    Parallel,
    Partial,
    ScopeOf,
    Symbol,
    Value,
    Visible,
    options,
    unbound,
)
from tfmigrate.understand.wraps import wrap
from tfmigrate.walk import walk

_PLAIN = frozenset({"len", "int", "float", "str", "bool", "round", "ord", "input", "isinstance", "hasattr", "id"})
"""Builtins whose result is plain data, whatever they are given: nothing of a model is made where they are called."""


def call(walker: Walker, node: cst.Call) -> Value:
    """What a call returns; its function is evaluated first, then its arguments."""
    state = walker.state
    builtin = node.func.value if isinstance(node.func, cst.Name) else ""
    if builtin == "super" and state.lookup("super") is None:
        return seen_as_base(state)
    callee = walker.evaluate(node.func)
    arguments = _arguments(walker, node)
    if machine.counts_gpus(builtin, arguments):
        return Visible("count")
    if builtin in containers.CONSTRUCTORS and isinstance(callee, Opaque):
        container = containers.constructed(builtin, arguments)
        if container is not None:
            return container
    if builtin == "setattr" and callee == unbound(builtin):
        set_by_name(walker, node, arguments)
    if builtin in _PLAIN and callee == unbound(builtin):
        return Opaque(f"a call of {builtin}", node=node)
    _note(state, callee, arguments, node)
    grow(walker, callee, arguments, node)
    return join(*(_apply(walker, option, arguments, node) for option in in_order(callee)))


def _arguments(walker: Walker, node: cst.Call) -> Arguments:
    """The values passed, each with its keyword; `*` is a keyword here, and so is `**` where its keys are not known."""
    values: list[tuple[str | None, Value]] = []
    for argument in node.args:
        keyword = argument.keyword.value if argument.keyword is not None else None
        value = walker.evaluate(argument.value)
        keys = [key for key in value.keys if key] if argument.star == "**" and isinstance(value, Mapping) else []
        if keys and isinstance(value, Mapping) and len(keys) == len(value.keys):
            values.extend(zip(keys, value.values, strict=True))
        else:
            values.append((argument.star or keyword, value))
    return tuple(values)


def _note(state: State, callee: Value, arguments: Arguments, node: cst.Call) -> None:
    """Log what is called on what may be a model, and that a scope is handed about instead of entered."""
    passed = any(isinstance(option, ScopeOf) for _, value in arguments for option in options(value))
    if passed or (isinstance(callee, Method) and isinstance(callee.receiver, ScopeOf)):
        state.program_facts.scopes_elsewhere = True
    methods = [option for option in in_order(callee) if isinstance(option, Method) and option.function is None]
    if methods and (methods[0].name in MODEL_METHODS or any(models_of(method.receiver) for method in methods)):
        receiver = join(*(method.receiver for method in methods))
        toggled = tuple(_toggled(state, receiver)) if methods[0].name == "compile" else ()
        use = Use(methods[0].name, node, state.site, receiver, arguments, state.program_facts.wraps, toggled)
        state.facts.uses.append(use)
        state.program_facts.uses.append(use)
        if use.method in TRAINING | {"compile"} or any(
            isinstance(possible, Parallel) for possible in options(receiver)
        ):
            state.effects += 1


def _toggled(state: State, receiver: Value) -> Iterator[tuple[ModelObject, Value]]:
    """The models of a receiver, and those they are built on, of which `trainable` was set, with its value."""
    for model in dict.fromkeys(part for whole in models_of(receiver) for part in whole.base_models()):
        value = state.attribute(model, "trainable")
        if value is not None:
            yield model, value


def _is_for_its_own_sake(node: cst.Call, unit: Unit) -> bool:
    """Whether the result of a call is unused."""
    small = only_statement(unit)
    return isinstance(small, cst.Expr) and small.value is node


def _may_be_copy(state: State, function: FunctionValue, arguments: Arguments) -> bool:
    """Whether a function of the program bears the name, may be given a model, and does not call Keras's own."""
    if function.owner is not None or name_of(function) != "multi_gpu_model" or not state.names_keras:
        return False
    symbols = state.program_facts.modules[function.closure.module].symbols
    wraps = any(names.canonical(symbols.get(node, "")) == names.MULTI_GPU_MODEL for node in walk(function.node))
    return not wraps and any(may_be_model(value) for _, value in arguments)


def _is_copy(state: State, function: FunctionValue) -> bool:
    """As `is_copy`, asked once of each function: the answer is in its body."""
    if function.node not in state.copies:
        state.copies[function.node] = is_copy(function.node)
    return state.copies[function.node]


def _apply_partial(walker: Walker, partial: Partial, arguments: Arguments, node: cst.Call) -> Value:
    """A function is called with what it was given before, and with these arguments: the call shows no more of them."""
    later = {keyword for keyword, _ in arguments if keyword is not None}
    passed = (*(argument for argument in partial.arguments if argument[0] not in later), *arguments)
    values: list[Value] = []
    for callee in in_order(partial.callee):
        wraps = isinstance(callee, FunctionValue) and callee.owner is None and _is_copy(walker.state, callee)
        if isinstance(callee, FunctionValue) and not wraps:
            values.append(call_function(walker, callee, passed, None))
        elif isinstance(callee, Symbol) and names.canonical(callee.name) != names.MULTI_GPU_MODEL:
            values.append(call_library(walker.state, callee.name, passed, node))
        else:
            values.append(combined(walker.state, [value for _, value in passed], node))
    return join(*values)


def _apply(walker: Walker, callee: Value, arguments: Arguments, node: cst.Call) -> Value:
    """What a call of one possible callee returns."""
    state = walker.state
    if isinstance(callee, Partial):
        return _apply_partial(walker, callee, arguments, node)
    if isinstance(callee, Symbol):
        return call_library(state, callee.name, arguments, node)
    if isinstance(callee, FunctionValue):
        if callee.owner is None and _is_copy(state, callee):
            parameters = [param.name.value for param in positional(callee.node.params)]
            several_only, together = returns_plain_alone(callee.node), returned_by(callee.node)
            return wrap(state, arguments, node, parameters, several_only=several_only, returned=together)
        returned = call_function(walker, callee, arguments, node)
        if _may_be_copy(state, callee, arguments):
            state.facts.copies[node] = "multi_gpu_model"
        return returned
    if isinstance(callee, ClassValue):
        return instantiate(walker, callee, arguments, node)
    if isinstance(callee, Method):
        return call_method(walker, callee, arguments, node)
    if isinstance(callee, ModelObject | Parallel) and _is_for_its_own_sake(node, state.unit):
        state.builds(models_of(callee))  # `model(tf.zeros((1, 4)))`
    if isinstance(callee, ModelObject | Parallel) or (isinstance(callee, Made) and callee.kind in ("layer", "tensor")):
        return layered(state, callee, arguments)
    values = tuple(value for _, value in arguments)
    if isinstance(callee, Opaque) and any(is_keras(value) for value in values):
        return layered(state, callee, arguments)
    return combined(state, values, node)
