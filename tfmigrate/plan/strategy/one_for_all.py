"""One strategy for functions that would make one each, where their models cannot train under two: at the top level of
the module, before the first of them is called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tfmigrate.plan.draft import Draft
from tfmigrate.plan.strategy.late_devices import Raised
from tfmigrate.plan.strategy.placement import Placement
from tfmigrate.plan.strategy.second_strategies import between_placements
from tfmigrate.understand.blocks import Unit
from tfmigrate.understand.lifecycle import ProgramFacts
from tfmigrate.understand.module import Module
from tfmigrate.understand.reaching import reaching
from tfmigrate.understand.values import Site


def made_once(placements: Sequence[Placement], facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> list[Placement]:
    """The placements, those of a module with one strategy where that is possible and two would fail."""
    clashing = {placement.owner.module for placement, _, _ in between_placements(placements, facts)}
    instead: dict[Placement, Placement] = {}
    for module in clashing:
        own = [placement for placement in placements if placement.owner.module is module]
        before = _place_for_all(own, facts, drafts[module])
        if before is not None:
            instead.update((placement, replace(placement, before=before, for_all=True)) for placement in own)
    return [instead.get(placement, placement) for placement in placements]


def _place_for_all(placements: Sequence[Placement], facts: ProgramFacts, draft: Draft) -> Unit | None:
    """The unit at the top level of a module before which all its strategies can be made as one."""
    first = placements[0]
    alike = all(
        _is_plain(placement) and placement.strategy == first.strategy and placement.owner.name == first.owner.name
        for placement in placements
    )
    outermost = [unit for placement in placements for unit in _outermost(placement)]
    known = [unit for unit in outermost if unit is not None]
    if not alike or len(known) < len(outermost):
        return None
    order = draft.module.order
    place = min(known, key=lambda unit: order[unit])
    set_up_before = all(
        (unit := _top_level(choice.site, draft.module)) is not None and order[unit] < order[place]
        for choice in facts.device_choices
    )
    free = all(
        placement.owner.function is draft.module.tree or not draft.scopes.visible(first.owner.name, draft.scopes.module)
        for placement in placements
    )
    return place if set_up_before and free and _are_known(placements, place, draft) else None


def _is_plain(placement: Placement) -> bool:
    return (
        not placement.owner.kept
        and not placement.over_workers
        and not placement.strategy.taken_from
        and placement.move is None
        and placement.counted is None
        and placement.raised == Raised()
    )


def _outermost(placement: Placement) -> Iterator[Unit | None]:
    """For each activation that makes the strategy, the unit of the module's top level under which it runs."""
    for group in placement.owner.groups:
        if group.owner.call is None:
            own = group.owner.function is None
            yield _ancestor(placement.before, placement.owner.module) if own else None
        else:
            yield _top_level(group.owner.call, placement.owner.module)


def _top_level(site: Site, module: Module) -> Unit | None:
    """The unit of a module's top level under which a place runs."""
    *_, outermost = site.chain()
    frame = outermost.frame
    return _ancestor(outermost.unit, module) if frame.function is None and frame.module is module else None


def _ancestor(unit: Unit, module: Module) -> Unit:
    return [unit, *module.ancestors(unit)][-1]  # type: ignore[return-value]


def _are_known(placements: Sequence[Placement], place: Unit, draft: Draft) -> bool:
    """Whether the names in the strategy are those of the module in every function, and bound once, before a place."""
    order, scopes = draft.module.order, draft.scopes
    for placement in placements:
        scope = scopes.by_node[placement.owner.function]
        for name in placement.strategy.free_names:
            if scopes.owner(name, scope) is None:  # of Python
                continue
            bindings = reaching(name, scope, scopes)
            if len(bindings) != 1 or scopes.owner(name, scope) is not scopes.module:
                return False
            if order[_ancestor(bindings[0].unit, draft.module)] >= order[place]:
                return False
    return True
