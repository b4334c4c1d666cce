"""fit() on arrays becomes a tf.data pipeline with the global batch, wherever a model of a home is trained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Insert
from tfmigrate.plan.groups import Group
from tfmigrate.plan.homes import Home
from tfmigrate.plan.interfaces import place_for_function
from tfmigrate.plan.pipeline import Names, plan_pipeline, shuffling_function, takes_arrays
from tfmigrate.plan.strategy import replicas
from tfmigrate.understand.lifecycle import Use
from tfmigrate.understand.program import Module


def plan_arrays(homes: Iterable[Home], drafts: Mapping[Module, Draft]) -> None:
    """The edits of each training on arrays, or in words why it keeps them."""
    trainings: dict[cst.Call, list[tuple[Home, Group, Use]]] = {}
    for home in homes:
        for group in home.groups:
            for use in group.trainings:
                if takes_arrays(use, drafts[use.site.frame.module].facts):
                    trainings.setdefault(use.call, []).append((home, group, use))
    shuffling: dict[Module, list[cst.Call]] = {}
    for call, concerned in trainings.items():
        home, group, use = concerned[0]
        draft = drafts[use.site.frame.module]
        if draft.wanted(codes.ARRAYS_TO_DATASET, call):
            alone = all(one is home for one, _, _ in concerned)
            counts = {replicas(wrap) for wrap in group.wraps} if alone else set()
            count = next(iter(counts)) if len(counts) == 1 else None
            names = _names(use, draft, home if alone else None, group)
            if _plan_one(use, draft, names, count):
                shuffling.setdefault(draft.module, []).append(call)
    for module, calls in shuffling.items():
        draft = drafts[module]
        over_workers, indent = draft.settings.over_workers, module.tree.default_indent
        code = shuffling_function(_function(draft), draft.tf, indent, draft.quote, over_workers)
        # First, for it stands before the strategy where both stand before the same statement.
        draft.edits.insert(0, Insert(place_for_function(module, calls), code))


def _function(draft: Draft) -> str:
    """The name of the function that shuffles, free everywhere in the module."""
    return draft.scopes.fresh("shuffled_batches", draft.scopes.module)


def _plan_one(use: Use, draft: Draft, names: Names, count: int | None) -> bool:
    """Returns whether its pipeline calls the function that shuffles."""
    over_workers = draft.settings.over_workers
    keep_batch = draft.settings.batch == "keep" or over_workers
    found = plan_pipeline(draft.module, draft.facts, use, names, count, keep_batch)
    if isinstance(found, str):
        message = f"fit() keeps its arrays, of which a strategy takes the global batch too: {found}"
        if over_workers:
            message = f"fit() keeps its arrays, which every worker shuffles in an order of its own: {found}"
        draft.say(codes.ARRAYS_TO_DATASET, use.call, message, "warn")
        return False
    draft.edits.extend((found.insert, found.arguments))
    message = "fit() on arrays becomes a tf.data pipeline with the global batch"
    draft.say(codes.ARRAYS_TO_DATASET, use.call, message, "rewrite")
    return found.shuffles


def _names(use: Use, draft: Draft, home: Home | None, group: Group) -> Names:
    """`home`: the one whose strategy all models of the call live under; None where there are several."""
    scope = draft.scope_of(use.site.frame)
    here = use.site.frame.function is group.home.function and use.site.frame.module is group.home.module
    guarded = any(wrap.guards for wrap in group.wraps)
    return Names(
        tf=draft.tf,
        strategy=home.name if home is not None and here and not guarded else None,
        train=draft.scopes.fresh("train_dataset", scope),
        validation=draft.scopes.fresh("validation_dataset", scope),
        batch=draft.scopes.fresh("global_batch_size", scope),
        split=draft.scopes.fresh("split_at", scope),
        arrays=draft.scopes.fresh("train_arrays", scope),
        shuffled=_function(draft),
        sharding=draft.scopes.fresh("sharding", scope) if draft.settings.over_workers else None,
    )
