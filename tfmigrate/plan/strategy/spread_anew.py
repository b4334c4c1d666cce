"""Models that the old program trained on one device, although it wrapped another of the kind: a strategy spreads both.

An object that wraps in `__init__` and builds its model again in `load()` trained on one GPU from then on. Where the
scope of its strategy stands round both, the second one is trained on all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.strategy.instead_of import is_instead_of
from tfmigrate.plan.strategy.model_group import Group
from tfmigrate.plan.strategy.placement import Placement
from tfmigrate.understand.contents import models_of
from tfmigrate.understand.lifecycle import ProgramFacts, Use
from tfmigrate.understand.module import Module
from tfmigrate.understand.values import ModelObject, Site

_WITH_PARTS = frozenset({"fit", "fit_generator"})
"""What divides a batch among the replicas; train_on_batch() gives the whole of it to each."""


def say_spread_anew(placement: Placement, facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> None:
    """Report what each such model was trained on, at the line that makes it."""
    wrapped = {model for wrap in facts.wraps for whole in models_of(wrap.template) for model in whole.base_models()}
    for group in placement.owner.groups:
        for model, use in _trained_alone(group, placement, wrapped):
            site = _own_line(model, group)
            place = use.place(site.frame.module)
            message = (
                f"multi_gpu_model did not wrap this model, so fit() at {place} trained it on one GPU; it is now "
                "built in the scope of the strategy and trained on all of them, which is the same except for layers "
                "that look at a whole batch, such as BatchNormalization"
            )
            drafts[site.frame.module].say(codes.SPREAD_ANEW, site.unit, message, "warn")


def _trained_alone(group: Group, placement: Placement, wrapped: Set[ModelObject]) -> Iterator[tuple[ModelObject, Use]]:
    """The models in the scope that no call wraps, each with the first call that trains it.

    `wrapped`: those that some call does, which need not be one of the group.
    """
    first: dict[ModelObject, Use] = {}
    for use in group.trainings:
        for model in use.models if use.method in _WITH_PARTS else ():
            if not wrapped.isdisjoint(model.base_models()):
                continue  # What is built on a parallel model ran on all GPUs with it.
            if placement.stands_round(model.sites) and not any(is_instead_of(wrap, model.site) for wrap in group.wraps):
                first.setdefault(model, use)
    yield from first.items()


def _own_line(model: ModelObject, group: Group) -> Site:
    """The innermost line under which this model is made and none that is wrapped."""
    shared = {
        (site.frame.module, site.unit)
        for wrap in group.wraps
        for whole in models_of(wrap.template)
        for site in whole.site.chain()
    }
    own = (site for site in model.site.chain() if (site.frame.module, site.unit) not in shared)
    return next(own, model.site)
