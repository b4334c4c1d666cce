"""A strategy that an object keeps: made in `__init__`, its scope opened in each method that builds or compiles.

For objects whose methods are called by unknown code, or in several orders: one method builds the model, another one
loads it instead, a third wraps it. No single function sees all of that, but all of them see `self`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.strategy.far_models import model_at
from tfmigrate.plan.strategy.model_group import (
    Group,
    Refusal,
    common_frame,
    group_of,
    group_of_object,
    shares_object,
    sites_to_cover,
)
from tfmigrate.plan.strategy.strategy import Strategy
from tfmigrate.understand.blocks import Unit, is_docstring, only_statement, units_of
from tfmigrate.understand.lifecycle import ProgramFacts, Wrap
from tfmigrate.understand.module import Module
from tfmigrate.understand.objects import calls_of_base, receiver_of, setters_of
from tfmigrate.understand.scopes import numbered
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import ClassValue, Frame, FunctionValue, Site

_NO_OBJECT = frozenset({"staticmethod", "classmethod"})
Method = tuple[Module, cst.FunctionDef]


@dataclass(frozen=True)
class Kept:
    """What stands in the scope of a kept strategy."""

    methods: Mapping[Method, frozenset[Unit]]
    """Units of methods, with the strategy under the name of their own object."""
    far: Mapping[Site, cst.BaseExpression]
    """Places in no method, each with the expression that is the model there."""

    def in_order(self) -> list[tuple[Method, frozenset[Unit]]]:
        """The methods with their units, as they stand in the files."""
        return sorted(self.methods.items(), key=lambda item: (item[0][0].path, item[0][0].order[item[0][1]]))


def keeper_of(wrap: Wrap, facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> Frame | None:
    """The activation of the `__init__` that can make the strategy for the object whose method wraps; None without one.

    It is the first to run on every object of the class, and everything that the model consists of is made on one.
    """
    anchor = _method_round(wrap.site.frame)
    if anchor is None or drafts[anchor.module].settings.over_workers:
        return None
    frames = [anchor]
    group = group_of(anchor, (wrap,), facts)
    for site in sites_to_cover(group):
        frames.extend(frame for frame in site.frame.chain() if frame not in frames and _is_method_of(frame, anchor))
    owners = {cls for frame in frames if frame.owner is not None for cls in frame.owner.ancestors()}
    for cls in sorted(owners, key=_from_the_base):
        function = cls.members.get("__init__")
        if not isinstance(function, FunctionValue) or not isinstance(function.node, cst.FunctionDef):
            continue
        begun = (frame for frame in frames if frame.function is function.node)
        init = next(begun, None) or Frame(function.module, function.node, function.closure, None, None, cls)
        if _runs_on_all(function.node, cls, drafts) and isinstance(kept(group_of_object(init, (wrap,), facts)), Kept):
            return init
    return None


def kept(group: Group) -> Kept | Refusal:
    """What stands in the scope of the strategy that `__init__`, the owner of a group, makes for the object."""
    methods: dict[Method, set[Unit]] = {}
    far: dict[Site, cst.BaseExpression] = {}
    apart = {site: model for use in group.compiles for site in (use.site, *use.parts)
             if site.frame is use.site.frame and (model := model_at(site, use, group.wraps)) is not None}  # fmt: skip
    for site, target in _targets(group):
        lifted = site.lifted(target) if target is not None else None
        if lifted is not None and _is_made_by_then(lifted, group.owner):
            assert isinstance(lifted.frame.function, cst.FunctionDef)
            methods.setdefault((lifted.frame.module, lifted.frame.function), set()).add(lifted.unit)
        elif site in apart:
            far[site] = apart[site]
        else:
            message = f"a part of its model is created at {site.frame.module.place(site.unit)}"
            return Refusal(codes.MADE_ELSEWHERE, f"{message}, where the object that wraps the model is not available")
    return Kept({method: frozenset(units) for method, units in methods.items()}, far)


def kept_by_all(groups: Iterable[Group]) -> Kept | Refusal:
    """The same for all groups of one strategy."""
    methods: dict[Method, frozenset[Unit]] = {}
    far: dict[Site, cst.BaseExpression] = {}
    for group in groups:
        scoped = kept(group)
        if isinstance(scoped, Refusal):
            return scoped
        far.update(scoped.far)
        for method, units in scoped.methods.items():
            methods[method] = methods.get(method, frozenset()) | units
    return Kept(methods, far)


def _targets(group: Group) -> Iterator[tuple[Site, Frame | None]]:
    """Each place to cover with the method whose scope it shall stand in: for all of a model the one that makes it."""
    done: set[Site] = set()
    for model in group.models:
        whole = common_frame(site.frame for site in model.sites)
        target = _on_the_object(whole, group.owner)
        if target is not None:
            done.update(model.sites)
            yield from ((site, target) for site in model.sites)
    yield from ((site, _on_the_object(site.frame, group.owner)) for site in sites_to_cover(group) - done)


def _on_the_object(frame: Frame | None, owner: Frame) -> Frame | None:
    """The innermost method of the object that an activation runs under."""
    return next((outer for outer in frame.chain() if _is_method_of(outer, owner)), None) if frame is not None else None


def _is_method_of(frame: Frame, other: Frame) -> bool:
    if not isinstance(frame.function, cst.FunctionDef) or receiver_of(frame.function) is None:
        return False
    plain = _NO_OBJECT.isdisjoint(dotted(item.decorator) for item in frame.function.decorators)
    return plain and shares_object(frame, other)


def _method_round(frame: Frame) -> Frame | None:
    return next((outer for outer in frame.chain() if outer.owner is not None and _is_method_of(outer, outer)), None)


def _from_the_base(cls: ClassValue) -> tuple[int, str, int]:
    module = cls.closure.module
    return len(list(cls.ancestors())), module.path, module.order.get(cls.node, 0)


def _runs_on_all(init: cst.FunctionDef, owner: ClassValue, drafts: Mapping[Module, Draft]) -> bool:
    """Whether the `__init__` of a class runs on the objects of each class that descends from it, too."""
    for cls in (cls for draft in drafts.values() for cls in draft.facts.classes):
        own = cls.lookup("__init__")
        if owner not in cls.ancestors() or not isinstance(own, FunctionValue) or own.node is init:
            continue
        if not isinstance(own.node, cst.FunctionDef) or _asks_its_base(own.node) is None:
            return False
    return True


def _asks_its_base(init: cst.FunctionDef) -> Unit | None:
    """The line of an `__init__` that calls the one of its base class, in any case."""
    return next((unit for unit, _ in calls_of_base(init)), None)


def _is_made_by_then(site: Site, owner: Frame) -> bool:
    """Whether `__init__` has made the strategy before a place in a method: not above the call in a derived one."""
    inits = [outer for outer in site.chain() if isinstance(outer.frame.function, cst.FunctionDef)
             and outer.frame.function.name.value == "__init__" and _is_method_of(outer.frame, owner)]  # fmt: skip
    if any(running.frame.function is owner.function for running in inits):
        return True
    for init in inits:
        assert isinstance(init.frame.function, cst.FunctionDef)
        asked = _asks_its_base(init.frame.function)
        order = init.frame.module.order
        if asked is None or order[asked] >= order[init.unit]:
            return False
    return True


def attribute_for_strategy(frame: Frame, drafts: Mapping[Module, Draft]) -> str:
    """`strategy`, or that name with a number: an attribute that no class of the object has."""
    owner = frame.owner
    assert owner is not None
    classes = [cls for draft in drafts.values() for cls in draft.facts.classes]
    related = {base for cls in classes if owner in cls.ancestors() for base in cls.ancestors()} | {*owner.ancestors()}
    return numbered("strategy", lambda one: any(one in cls.members or any(setters_of(cls, one)) for cls in related))


def place_in_init(
    groups: Iterable[Group], strategy_at: Callable[[Unit], Strategy | Refusal]
) -> tuple[Unit, Strategy | Refusal]:
    """The unit of `__init__` before which the strategy is made, as soon as it reads what the object keeps.

    It comes before the first unit that builds.
    """
    groups = tuple(groups)
    owner = groups[0].owner
    assert isinstance(owner.function, cst.FunctionDef)
    units = [unit for unit in units_of(owner.function.body) if not is_docstring(only_statement(unit))]
    building = {
        round_
        for group in groups
        for site in sites_to_cover(group)
        for outer in site.chain()
        if outer.frame.function is owner.function
        for round_ in (outer.unit, *owner.module.ancestors(outer.unit))
    }
    last = next((number for number, unit in enumerate(units) if unit in building), len(units) - 1)
    tried = [(unit, strategy_at(unit)) for unit in units[: last + 1]]
    while len(tried) > 1 and isinstance(tried[-1][1], Refusal):
        tried.pop()
    before, strategy = tried[-1]
    for unit, earlier in reversed(tried):
        if earlier != strategy:
            break
        before = unit
    return before, strategy


def known_too_late(groups: Iterable[Group], refusal: Refusal) -> Refusal:
    """Why the strategy cannot be made in `__init__`: what says how many GPUs there are comes later than a model may."""
    for group in groups if refusal.code == codes.GPUS_TOO_LATE else ():
        for wrap in group.wraps:
            wrapping, earlier = _name(_method_round(wrap.site.frame)), _first_apart(group, wrap)
            if wrapping and earlier is not None:
                gpus = wrap.site.frame.module.code(wrap.gpus) if wrap.gpus is not None else "the number of GPUs"
                owner = group.owner.owner
                maker = f"{owner.node.name.value}()" if owner is not None else "__init__()"
                message = (
                    f"`{gpus}` or the condition of the wrap is not known before {wrapping}(), and a part of the "
                    f"model may be created earlier, at {earlier}: pass what they need to {maker} and keep it as "
                    "attributes"
                )
                return Refusal(codes.GPUS_TOO_LATE, message)
    return refusal


def _first_apart(group: Group, wrap: Wrap) -> str | None:
    """Where another method than the one that wraps makes a part of the model, in words."""
    here, wrapping = wrap.site.frame.module, _method_round(wrap.site.frame)
    places = [
        (site.frame.module.path, site.frame.module.position(site.unit)[0], _name(target), site)
        for site, target in _targets(group)
        if target is not None and wrapping is not None and target.function is not wrapping.function
    ]
    for _, _, name, site in sorted(places, key=lambda place: place[:3])[:1]:
        return f"{site.frame.module.place(site.unit, here)}, in {name}()"
    return None


def _name(frame: Frame | None) -> str:
    function = frame.function if frame is not None else None
    return function.name.value if isinstance(function, cst.FunctionDef) else ""
