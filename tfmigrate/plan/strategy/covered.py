"""What stands in the scope of an owner's strategy."""

from __future__ import annotations

from collections.abc import Container, Iterator

import libcst as cst

from tfmigrate.plan.strategy.far_models import model_at
from tfmigrate.plan.strategy.model_group import sites_to_cover
from tfmigrate.plan.strategy.owner import Owner
from tfmigrate.plan.strategy.scope import loops_round
from tfmigrate.understand.blocks import Unit
from tfmigrate.understand.lifecycle import Use
from tfmigrate.understand.module import Module
from tfmigrate.understand.reaching import parameters_of
from tfmigrate.understand.values import Site


def covered(owner: Owner) -> tuple[frozenset[Unit], tuple[tuple[Site, cst.BaseExpression], ...]]:
    """The units to stand under the owner's strategy, and the places far from it that can stand under their model's."""
    near: set[Unit] = set()
    far: dict[Site, cst.BaseExpression] = {}
    for group in owner.groups:
        trained = {
            lifted.unit
            for use in group.trainings
            if (lifted := use.site.lifted(group.owner)) is not None and use.site.frame is not group.owner
        }
        apart = {
            site: (site, model)
            for use in group.compiles
            for site in (use.site, *use.parts)
            if site.frame is use.site.frame and (model := model_at(site, use, group.wraps)) is not None
        }
        for use in group.compiles:
            apart.update(_parts_made_by_calls(use))
        for site in sites_to_cover(group):
            lifted = site.lifted(group.owner)
            distant = lifted is None or (site.frame is not group.owner and lifted.unit in trained)
            if distant and site in apart:
                place, model = apart[site]
                far[place] = model
            elif lifted is not None:
                near.add(lifted.unit)
    apart_from_near = tuple((site, model) for site, model in far.items() if site.unit not in near)
    return _in_their_arm(owner, frozenset(near)), apart_from_near


def _parts_made_by_calls(use: Use) -> Iterator[tuple[Site, tuple[Site, cst.BaseExpression]]]:
    """Optimizers and metrics of a far compile() that a function makes: the call of it where the compile() stands, and
    the model there, which must be known by then: it is handed over."""
    func, function = use.call.func, use.site.frame.function
    if not isinstance(func, cst.Attribute) or not isinstance(func.value, cst.Name) or function is None:
        return
    if func.value.value not in parameters_of(function):
        return
    for site in use.parts:
        inner = site.lifted(use.site.frame)
        if inner is not None and site.frame is not use.site.frame:
            yield site, (inner, func.value)


def _in_their_arm(owner: Owner, near: frozenset[Unit]) -> frozenset[Unit]:
    """Those of some units that need a scope. What another arm of an `if` than that of all wraps builds needs none where
    the strategy can be made in that arm: nothing outside the `if` stands in its scope. What one turn of a loop builds
    may be wrapped in the next."""
    arms = [
        {(guard.node, guard.arm) for guard in wrap.guards if guard.frame is group.owner}
        for group in owner.groups
        for wrap in group.wraps
    ]
    for node, arm in frozenset.intersection(*map(frozenset, arms)):
        if isinstance(node, cst.If) and node in owner.module.places:
            own = [node.body] if arm == "body" else list(_alternatives(node))
            ours = frozenset(unit for unit in near if _is_in(owner.module, unit, own))
            inside = all(node in owner.module.ancestors(unit) for unit in near)
            if ours and inside and not any(loops_round(owner.module, node, owner.body)):
                near = ours
    return near


def _alternatives(node: cst.If) -> Iterator[cst.BaseSuite]:
    """The blocks that run where the first one does not."""
    while node.orelse is not None:
        yield node.orelse.body
        if isinstance(node.orelse, cst.Else):
            return
        node = node.orelse


def _is_in(module: Module, unit: Unit, suites: Container[cst.CSTNode]) -> bool:
    return any(module.places[outer].block in suites for outer in (unit, *module.ancestors(unit)))


def training_in(owner: Owner) -> frozenset[Unit]:
    """The units of an owner under which its models are trained."""
    return frozenset(
        lifted.unit
        for group in owner.groups
        for use in group.trainings
        if (lifted := use.site.lifted(group.owner)) is not None
    )
