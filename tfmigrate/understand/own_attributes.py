"""Whether an attribute of a method's own object, as `self.gpus`, has its value by a given line of the program."""

from __future__ import annotations

import libcst as cst

from tfmigrate.understand.blocks import units_of
from tfmigrate.understand.module import Module
from tfmigrate.understand.objects import (
    calls_one_of,
    kept_as,
    methods_that_set,
    receiver_of,
    sets_attribute,
    setters_of,
)
from tfmigrate.understand.values import Frame, Site


def is_settled(text: str, target: Frame, before: cst.CSTNode) -> bool:
    """Whether `self.gpus` or `args.gpus` is assigned nowhere at or after `before` in the same function."""
    module = target.module
    body = target.function.body if isinstance(target.function, cst.FunctionDef) else module.tree
    first = module.order[_unit_of(before, body, module)]
    return not any(sets_attribute(unit, text, module) for unit in units_of(body) if module.order[unit] >= first)


def is_untouched(name: str, source: Site, target: Frame, before: cst.CSTNode) -> bool:
    """Whether nothing from `before` to `source` sets an attribute of the object whose method `source` stands in."""
    owners = tuple(source.frame.owner.ancestors()) if source.frame.owner is not None else ()
    attribute = kept_as(owners, name)
    methods = methods_that_set(owners, attribute)
    for site in source.chain():
        module, here = site.frame.module, site.frame is target
        first = module.order[before] if here else 0
        for unit in module.inside(site.frame.function or module.tree):
            on_the_way = first <= module.order[unit] < module.order[site.unit]
            if on_the_way and isinstance(unit, cst.SimpleStatementLine | cst.SimpleStatementSuite):
                if sets_attribute(unit, f".{attribute}", module) or calls_one_of(unit, methods):
                    return False
        if here:
            break
    return True


def same_object(name: str, source: Frame, target: Frame) -> str | None:
    """What `self` of one method is called in another one of the same object, which built what the first wraps."""
    if source.owner is None or target.owner is None or name != receiver_of(source.function):
        return None
    related = set(source.owner.ancestors()) & set(target.owner.ancestors())
    return receiver_of(target.function) if related else None


def is_early(name: str, source: Frame, target: Frame, before: cst.CSTNode) -> bool:
    """Whether an attribute of the object that both methods belong to has its value for good just before `before`.

    It has when it is set in __init__ alone, and __init__ is over by then or past that line.
    """
    assert source.owner is not None
    assert target.owner is not None
    owners = dict.fromkeys((*target.owner.ancestors(), *source.owner.ancestors()))
    attribute = kept_as(owners, name)
    setters = [(method, unit) for cls in owners for method, unit in setters_of(cls, attribute)]
    if not setters or any(method.name.value != "__init__" for method, _ in setters):
        return False
    here = Site(target, before)  # type: ignore[arg-type]
    for site in here.chain():
        order = site.frame.module.order
        if any(method is site.frame.function and order[unit] >= order[site.unit] for method, unit in setters):
            return False
    return True


def _unit_of(unit: cst.CSTNode, body: cst.Module | cst.BaseSuite, module: Module) -> cst.CSTNode:
    """The unit of `body` that holds `unit`."""
    return next(outer for outer in (unit, *module.ancestors(unit)) if module.places[outer].block is body)
