"""What a strategy is given as devices and cannot take: physical devices, their names, and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import named_arguments
from tfmigrate.plan.draft import Draft
from tfmigrate.understand.loops import PartOf
from tfmigrate.understand.module import Module
from tfmigrate.understand.reaching import bound_once
from tfmigrate.understand.values import Items, Literal, StrategyObject, options

_LISTS_PHYSICAL = frozenset(
    {"tensorflow.config.list_physical_devices", "tensorflow.config.experimental.list_physical_devices"}
)


def no_devices(
    strategies: Iterable[StrategyObject], drafts: Mapping[Module, Draft]
) -> Iterator[tuple[Module, CallChange]]:
    """A warning for each MirroredStrategy that fails for what it is given."""
    for strategy in strategies:
        draft = drafts.get(strategy.site.frame.module)
        named = named_arguments(strategy.node, ("devices", "cross_device_ops"))
        if draft is None or named is None or "devices" not in named:
            continue
        if draft.facts.called(strategy.node) != "tensorflow.distribute.MirroredStrategy":
            continue
        devices = named["devices"].value
        what = _cannot_be(devices, draft)
        if what is not None:
            message = (
                f"MirroredStrategy takes device names, but this is {what}: leave out the argument for all GPUs, or "
                'write names as "/gpu:0"'
            )
            yield draft.module, CallChange(codes.DEVICES_NOT_NAMES, devices, message, action="warn")


def _cannot_be(node: cst.BaseExpression, draft: Draft) -> str | None:
    values = draft.facts.options(node)
    listed = [
        part for option in values if isinstance(option, Items) for value in option.values for part in options(value)
    ]
    if values and all(map(_is_number, values)):
        return "a number"
    if listed and all(isinstance(option, Items) for option in values) and all(map(_is_number, listed)):
        return "a list of numbers"
    if _are_physical(node, draft):
        return "a list of physical devices, which are not names"
    source = _source(node, draft)
    name = source.elt if isinstance(source, cst.ListComp) else None
    if isinstance(name, cst.Attribute) and name.attr.value == "name":
        devices = [value.node for value in draft.loops.taken(name.value) if isinstance(value, PartOf)]
        if any(_are_physical(node, draft) for node in devices):
            return 'a list of names such as "/physical_device:GPU:0", which it does not know'
    return None


def _is_number(value: object) -> bool:
    return isinstance(value, Literal) and isinstance(value.value, int) and not isinstance(value.value, bool)


def _are_physical(node: cst.BaseExpression, draft: Draft) -> bool:
    """Whether an expression is what list_physical_devices() returned, or some of it."""
    source = _source(node, draft)
    if isinstance(source, cst.Subscript) and isinstance(source.slice[0].slice, cst.Slice):
        return _are_physical(source.value, draft)
    return draft.facts.called(source) in _LISTS_PHYSICAL


def _source(node: cst.BaseExpression, draft: Draft) -> cst.BaseExpression | None:
    """An expression, or what the name it is was bound to, where that is one place only."""
    return bound_once(node, draft.scopes) if isinstance(node, cst.Name) else node
