"""Which activation can make the strategy of a wrap: what makes and compiles the model runs under it."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from tfmigrate.plan.draft import Draft
from tfmigrate.plan.strategy.far_models import model_at
from tfmigrate.plan.strategy.model_group import (
    Group,
    common_frame,
    compiled_by,
    group_of,
    group_of_copies,
    lines_building,
    owner_of,
    remade_optimizers,
    sites_to_cover,
)
from tfmigrate.understand.blocks import Unit
from tfmigrate.understand.contents import models_of
from tfmigrate.understand.lifecycle import ProgramFacts, Use, Wrap
from tfmigrate.understand.module import Module
from tfmigrate.understand.reaching import reaching
from tfmigrate.understand.syntax import called_on, dotted
from tfmigrate.understand.values import Frame, Site
from tfmigrate.walk import walk


def maker_of(wrap: Wrap, facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> Frame | None:
    """The wrap's owner, moved outwards until every part of the model and its optimizer is made under it."""
    owner = owner_of(wrap)
    beside = owner is not None and owner not in wrap.site.frame.chain()
    if owner is not None and beside:
        above = common_frame([owner, wrap.site.frame])
        builds_others = not _asks_the_object(wrap) and _builds_others(owner, facts)
        if above is not None and (builds_others or _is_called_in_loop(owner, above)):
            owner = above
    while owner is not None:
        group = group_of(owner, (wrap,), facts)
        parts = frozenset().union(*(use.parts for use in group.compiles))
        outside = {
            site.frame
            for site in sites_to_cover(group) - {use.site for use in group.compiles if compiled_by(use) is not None}
            if site.lifted(owner) is None
            and not _reachable_far(group, site, drafts)
            # Another model in the same variable that no run builds together with this one needs no scope of its own.
            and (site in parts or common_frame([owner, site.frame]) is not None)
        }
        if not outside:
            return owner
        raised = common_frame([owner, *outside])
        if raised is owner:
            return None
        owner = raised
    return None


def maker_of_copy(wrap: Wrap, facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> Frame | None:
    """As maker_of, of a wrap whose model is copied where it was wrapped: where the copy is made and compiled."""
    owner: Frame | None = wrap.site.frame
    while owner is not None:
        group = group_of_copies(owner, (wrap,), facts)
        remade = {site for use in remade_optimizers(group) for site in use.optimizer_parts}
        outside = {
            site.frame
            for site in sites_to_cover(group) - {use.site for use in group.compiles} - remade
            if site.lifted(owner) is None and not _reachable_far(group, site, drafts)
        }
        if not outside:
            return owner
        raised = common_frame([owner, *outside])
        owner = raised if raised is not owner else None
    return None


def _asks_the_object(wrap: Wrap) -> bool:
    """Whether attributes say how many GPUs there are, or whether to wrap: `if self.gpus > 1`."""
    asked = [guard.node.test for guard in wrap.guards if not isinstance(guard.node, cst.Try)]
    return any(
        isinstance(part, cst.Attribute) for node in (*asked, wrap.gpus) if node is not None for part in walk(node)
    )


def _is_called_in_loop(owner: Frame, above: Frame) -> bool:
    """Whether an activation runs in a loop of one that it is called from, so that it is one of several."""
    sites = owner.call.chain() if owner.call is not None else iter(())
    calls = [site for site in sites if site.frame is above or above in site.frame.chain()]
    return any(
        isinstance(outer, cst.For | cst.While)
        for site in calls
        for outer in site.frame.module.ancestors(site.unit)
        if outer in site.frame.module.places
    )


def _builds_others(owner: Frame, facts: ProgramFacts) -> bool:
    """Whether the function of an activation builds, in another one, a model that nothing wraps."""
    wrapped = frozenset().union(*(models_of(wrap.template) for wrap in facts.wraps))
    return any(
        frame.function is owner.function and frame is not owner
        for model in facts.models
        if model not in wrapped
        for frame in model.site.frame.chain()
    )


def builds_beside(owner: Frame, wrap: Wrap, facts: ProgramFacts) -> bool:
    """Whether another method of the object beside a wrap's owner has the model built too."""
    if owner.owner is None or not _asks_the_object(wrap):
        return False  # The caller's choice is not known in the other method, which may be meant for a single GPU.
    begins = isinstance(owner.function, cst.FunctionDef) and owner.function.name.value == "__init__"
    if begins and owner in wrap.site.frame.chain():
        return False  # Nothing is built earlier, and what is built later stays unwrapped.
    group = group_of(owner, (wrap,), facts)
    lines = {unit for model in group.models for unit in lines_building(model, owner)}
    others = (model for model in facts.models if model not in group.models)
    return any(
        not lines.isdisjoint(lines_building(model, owner))
        and all(frame.function is not owner.function for frame in model.site.frame.chain())
        for model in others
    )


def _reachable_far(group: Group, site: Site, drafts: Mapping[Module, Draft]) -> bool:
    """Whether a site outside the owner can stand under `model.distribute_strategy` beside its compile()."""
    for use in group.compiles:
        if site in use.parts and site.frame is use.site.frame:
            known = _known_before(use, site.unit, drafts[site.frame.module])
            return known and model_at(site, use, group.wraps) is not None
    return False


def _known_before(use: Use, unit: Unit, draft: Draft) -> bool:
    """Whether the model that compile() is called on has its name before `unit`."""
    receiver = called_on(use.call)
    root = dotted(receiver).split(".", 1)[0]
    if not root:
        return False
    scope = draft.scope_of(use.site.frame)
    order = draft.module.order
    return all(
        order[mention.unit] < order[unit] or mention.unit is scope.node
        for mention in reaching(root, scope, draft.scopes)
    )
