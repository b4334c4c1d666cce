"""How a model is called where a part of its compile() is made, far from the strategy: whose scope that part needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from tfmigrate.plan.strategy.model_group import compiled_by, written_again
from tfmigrate.understand.blocks import Unit
from tfmigrate.understand.lifecycle import Use, Wrap
from tfmigrate.understand.module import Module
from tfmigrate.understand.objects import receiver_of
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import Frame, Site
from tfmigrate.walk import walk


def model_at(site: Site, use: Use, wraps: Iterable[Wrap]) -> cst.BaseExpression | None:
    """What a compile() is called on, as it can be written at a place of the same function where a part of it is made;
    above the wrap, which makes the parallel model, that is the model which is wrapped."""
    receiver, module, frame = compiled_by(use), site.frame.module, site.frame
    order = module.order
    if receiver is None or site.unit not in order:  # A default value is evaluated outside of any statement.
        return receiver
    for wrap in wraps:
        wrapped, template = wrap.site.lifted(frame), wrap.template_node
        at = order.get(wrapped.unit) if wrapped is not None else None
        if wrapped is None or at is None or not order[site.unit] < at < order[use.site.unit]:
            continue
        if template is not None and written_again(template) and _is_same_object(template, wrap.site.frame, frame):
            if not _is_set(template, module, site.unit, wrapped.unit):
                return template
        return None
    return None if _is_set(receiver, module, site.unit, use.site.unit) else receiver


def _is_same_object(node: cst.BaseExpression, source: Frame, target: Frame) -> bool:
    """Whether an expression of one function says the same in another one: `self.model` in methods of one object."""
    if source is target:
        return True
    receiver = receiver_of(source.function)
    own = receiver is not None and receiver == receiver_of(target.function) and source.receiver == target.receiver
    return own and written_again(node).startswith(f"{receiver}.")


def _is_set(node: cst.BaseExpression, module: Module, first: Unit, end: Unit) -> bool:
    """Whether a name or an attribute, or what it belongs to, is assigned to from one unit on, before another one."""
    text = written_again(node)
    return any(
        (name := dotted(target)) and (text == name or text.startswith((f"{name}.", f"{name}[")))
        for unit in module.places
        if module.order[first] <= module.order[unit] < module.order[end]
        for target in _bound_in(unit)
    )


def _bound_in(unit: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The names and attributes that a unit, or a part of it, gives a value to."""
    for part in walk(unit):
        if isinstance(part, cst.AssignTarget | cst.AugAssign | cst.AnnAssign | cst.For | cst.NamedExpr):
            yield from _set_by(part.target)
        elif isinstance(part, cst.AsName):
            yield from _set_by(part.name)


def _set_by(target: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """What an assignment to a target gives a value to: of `self.a.b` that is `b` alone."""
    if isinstance(target, cst.Tuple | cst.List):
        for element in target.elements:
            yield from _set_by(element.value)
    else:
        yield target
