"""What an assignment does to names, to the attributes of objects and models, and to the elements of lists."""

from __future__ import annotations

import libcst as cst

from tfmigrate.understand import containers, machine
from tfmigrate.understand.contents import is_keras, models_of, sites_of
from tfmigrate.understand.joins import grown, join, with_item
from tfmigrate.understand.lifecycle import Toggle
from tfmigrate.understand.ordering import in_order
from tfmigrate.understand.state import State, Walker
from tfmigrate.understand.values import (
    Arguments,
    Instance,
    Items,
    Literal,
    Mapping,
    ModelObject,
    Opaque,
    Parallel,
    Parameter,
    Value,
    options,
)


def assign(walker: Walker, target: cst.BaseExpression, value: Value) -> None:
    """`target = value`; targets that are unpacked each get their part."""
    if isinstance(target, cst.Name):
        walker.state.bind(target.value, value)
    elif isinstance(target, cst.Attribute):
        _set_attribute(walker, target, value)
    elif isinstance(target, cst.Tuple | cst.List):
        elements = [element.value for element in target.elements]
        for position, element in enumerate(elements):
            assign(walker, element, containers.unpacked(value, position, len(elements)))
    elif isinstance(target, cst.Subscript):
        _set_item(walker, target, value)
    elif isinstance(target, cst.StarredElement):
        assign(walker, target.value, Opaque("a starred target"))


def _set_attribute(walker: Walker, target: cst.Attribute, value: Value) -> None:
    state = walker.state
    receiver = walker.evaluate(target.value)
    for option in options(receiver):
        if isinstance(option, Opaque | Parameter) and (is_keras(value) or option in state.holders):
            state.holders.add(option)
            state.store[(option, target.attr.value)] = value
            state.effects += 1
        if isinstance(option, Instance | ModelObject):
            state.store[(option, target.attr.value)] = value
            state.effects += 1
            if isinstance(option, ModelObject):
                option.sites |= sites_of(value)
                if target.attr.value == "outputs":
                    option.sites.add(state.site)
    if target.attr.value == "trainable":
        _toggle(state, target, receiver, value)


def set_by_name(walker: Walker, call: cst.Call, arguments: Arguments) -> None:
    """`setattr(x, "trainable", value)`; other attributes are not followed."""
    if len(arguments) != 3 or any(keyword is not None for keyword, _ in arguments):
        return
    (_, receiver), (_, name), (_, value) = arguments
    if name == Literal("trainable"):
        for option in options(receiver):
            if isinstance(option, ModelObject):
                walker.state.store[(option, "trainable")] = value
        _toggle(walker.state, call, receiver, value)


def _toggle(state: State, node: cst.BaseExpression, receiver: Value, value: Value) -> None:
    """Note that `trainable` is set, of layers too: a function that does so is walked again at each call."""
    state.facts.toggles.append(Toggle(node, receiver, value, state.site))
    state.effects += 1
    for wrapped in (option for option in options(receiver) if isinstance(option, Parallel)):
        for model in models_of(wrapped.wrap.template):  # the one model that there will be
            state.store[(model, "trainable")] = value


def _set_item(walker: Walker, target: cst.Subscript, value: Value) -> None:
    receiver = walker.evaluate(target.value)
    index = containers.index_of(walker, target)
    if machine.is_device_variable(receiver, index):
        walker.state.chooses_devices(target)
    key = index.value if isinstance(index, Literal) and isinstance(index.value, str) else None
    named = isinstance(target.value, cst.Name | cst.Attribute)
    after = [_with_item(option, key, value, named=named) for option in in_order(receiver)]
    if any(option is not None for option in after):
        old = in_order(receiver)
        assign(walker, target.value, join(*(new or same for new, same in zip(after, old, strict=True))))


def _with_item(receiver: Value, key: str | None, value: Value, *, named: bool) -> Value | None:
    """A list or dict after one of its items was set; None for anything else."""
    if isinstance(receiver, Items):
        return grown(receiver, (value,))
    return with_item(receiver, key, value) if isinstance(receiver, Mapping) and named else None
