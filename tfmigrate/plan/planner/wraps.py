"""The wraps go, and the strategies take their place."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import libcst as cst

from tfmigrate.plan import codes, workers
from tfmigrate.plan.data.arrays import plan_arrays
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Unwrap
from tfmigrate.plan.keras import cautions, out_of_sight
from tfmigrate.plan.keras.old_files import say_files_of_old_runs
from tfmigrate.plan.keras.own_optimizers import plan_own_optimizers
from tfmigrate.plan.keras.toggles import plan_toggles
from tfmigrate.plan.planner.reported import say_of_other_files
from tfmigrate.plan.strategy.batch_statistics import say_batch_statistics
from tfmigrate.plan.strategy.callback_templates import write_templates_in_callbacks
from tfmigrate.plan.strategy.copied import copy_models, remake_optimizers
from tfmigrate.plan.strategy.eligible import wraps_in
from tfmigrate.plan.strategy.in_callbacks import during_trainings, say_used_in_callbacks
from tfmigrate.plan.strategy.model_group import Refusal
from tfmigrate.plan.strategy.own_copies import drop_own_copies
from tfmigrate.plan.strategy.placement import Placement, make_strategy, scope_far_places, scope_methods
from tfmigrate.plan.strategy.remains import Remains
from tfmigrate.plan.strategy.second_strategies import say_second_strategies
from tfmigrate.plan.strategy.spread_anew import say_spread_anew
from tfmigrate.plan.strategy.trail import story_of, trail_of
from tfmigrate.plan.strategy.unused_wraps import say_unused_in_scope
from tfmigrate.plan.strategy.unwrap import say_unsure_templates, unwrapped
from tfmigrate.understand.lifecycle import ProgramFacts, Wrap
from tfmigrate.understand.module import Module


def migrate_wraps(
    placements: Collection[Placement],
    remains: Mapping[Module, Remains],
    refused: Mapping[cst.Call, Refusal],
    facts: ProgramFacts,
    drafts: Mapping[Module, Draft],
) -> tuple[set[Module], set[Module]]:
    """Take the wraps out, put the strategies in.

    Returns the modules whose models the chief of several machines saves, and the files of copies of multi_gpu_model.
    """
    wraps = [wrap for left in remains.values() for wrap in left.wraps]
    copying = [group for placement in placements for group in placement.owner.groups if group.copied]
    copied = [wrap for group in copying for wrap in group.wraps]
    _leave_remains(remains, refused, drafts)
    if wraps:
        write_templates_in_callbacks(facts, drafts, refused)
    copy_models(copied, facts, drafts)
    remake_optimizers((group for placement in placements for group in placement.owner.groups), drafts)
    _drop_wrapper_classes((*wraps, *copied), refused, facts, drafts)
    copies = drop_own_copies(wraps, facts, drafts)
    for placement in placements:
        make_strategy(placement, remains.get(placement.owner.module), drafts[placement.owner.module])
    plan_arrays([placement.owner for placement in placements], drafts)
    saving: set[Module] = set()
    for placement in placements:
        _plan_models(placement, facts, drafts)
        if placement.over_workers:
            saving |= workers.plan_owner(placement.owner, facts, drafts)
    if placements:
        plan_own_optimizers([use for use in facts.uses if use.method == "compile"], drafts)
    say_second_strategies(placements, facts, drafts)
    say_used_in_callbacks(during_trainings(placements, facts), drafts)
    scope_methods(placements, drafts)
    scope_far_places(placements, remains, drafts)
    if wraps:
        _say_of_wraps(wraps, placements, facts, drafts)
        say_unused_in_scope(wraps, facts, drafts)
        say_unsure_templates(drafts, refused)
        say_of_other_files(placements, wraps, drafts)
    return saving, copies


def _leave_remains(
    remains: Mapping[Module, Remains], refused: Mapping[cst.Call, Refusal], drafts: Mapping[Module, Draft]
) -> None:
    """What is left of statements with wraps, and the templates where they were taken out of the parallel model."""
    for module, left in remains.items():
        drafts[module].edits.extend(left.edits(refused))
        for function in left.idle:
            message = f"{function.name.value}() only wrapped its model: it is removed with its calls"
            drafts[module].say(codes.MULTI_GPU_MODEL, function, message, "rewrite")
    for draft in drafts.values():
        draft.edits.extend(unwrapped(draft, refused))


def _drop_wrapper_classes(
    gone: Iterable[Wrap], refused: Mapping[cst.Call, Refusal], facts: ProgramFacts, drafts: Mapping[Module, Draft]
) -> None:
    """Model classes that are the parallel model go with the last one."""
    staying = {wrap.wrapper_class for wrap in facts.wraps if wrap.call in refused}
    for wrapper_class in dict.fromkeys(wrap.wrapper_class for wrap in gone):
        if wrapper_class is None or wrapper_class in staying:
            continue
        draft = drafts[wrapper_class.closure.module]
        draft.edits.append(Unwrap(wrapper_class.node, None))
        wrapping = list(wraps_in(wrapper_class, drafts))
        does = "only wraps a model" if wrapping else "splits the batch among the GPUs"
        message = f"the class {wrapper_class.node.name.value}, which {does}, is removed"
        places: list[cst.CSTNode] = [*wrapping] or [wrapper_class.node]
        for place in places:
            draft.say(codes.MULTI_GPU_MODEL, place, message, "rewrite")


def _plan_models(placement: Placement, facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> None:
    """What else there is to change, or to say, where the models of a strategy are compiled and trained."""
    owner = placement.owner
    compiles = [use for group in owner.groups for use in group.compiles]
    trainings = [use for group in owner.groups for use in group.trainings]
    cautions.say_trainable_toggles(compiles, trainings, drafts, plan_toggles(compiles, trainings, drafts))
    out_of_sight.say_compiled_out_of_sight(owner, facts, drafts)
    out_of_sight.say_optimizers_out_of_sight(owner, drafts)
    out_of_sight.say_parts_out_of_sight(owner, drafts)
    say_spread_anew(placement, facts, drafts)
    say_batch_statistics(placement, facts, drafts)


def _say_of_wraps(
    wraps: Iterable[Wrap], placements: Iterable[Placement], facts: ProgramFacts, drafts: Mapping[Module, Draft]
) -> None:
    at_hand = {wrap.call for placed in placements if placed.strategy.taken_from for wrap in placed.owner.wraps}
    for wrap in wraps:
        draft = drafts[wrap.site.frame.module]
        story = story_of(wrap, draft, facts, wrap.call in at_hand)
        draft.say(codes.MULTI_GPU_MODEL, wrap.call, story, "rewrite", trail_of(wrap, facts))
        say_files_of_old_runs(wrap, facts, drafts)
        cautions.say_undefined(wrap, draft)
