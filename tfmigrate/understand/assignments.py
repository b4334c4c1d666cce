"""What an assignment does to names, to the attributes of objects and models, and to the elements of lists."""

from __future__ import annotations

import libcst as cst

from tfmigrate.understand import containers, machine
from tfmigrate.understand.contents import is_keras, models_of, sites_of
from tfmigrate.understand.joins import grown, with_item
from tfmigrate.understand.state import Walker
from tfmigrate.understand.values import (
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
        state.facts.toggles.append((target, receiver, value))
        for wrapped in (option for option in options(receiver) if isinstance(option, Parallel)):
            for model in models_of(wrapped.wrap.template):  # the one model that there will be
                state.store[(model, "trainable")] = value
                state.effects += 1


def _set_item(walker: Walker, target: cst.Subscript, value: Value) -> None:
    receiver = walker.evaluate(target.value)
    index = containers.index_of(walker, target)
    if machine.is_device_variable(receiver, index):
        walker.state.chooses_devices(target)
    if isinstance(receiver, Items):
        assign(walker, target.value, grown(receiver, (value,)))
    elif isinstance(receiver, Mapping) and isinstance(target.value, cst.Name | cst.Attribute):
        key = index.value if isinstance(index, Literal) and isinstance(index.value, str) else None
        assign(walker, target.value, with_item(receiver, key, value))
