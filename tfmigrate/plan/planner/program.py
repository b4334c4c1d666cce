"""Facts -> Plans: the migration from wrap to strategy, readable from top to bottom."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set

import libcst as cst

from tfmigrate.plan import codes, workers
from tfmigrate.plan.comments.going import comments_that_go
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Plan
from tfmigrate.plan.keras.companions import plan_companions, plan_readiness
from tfmigrate.plan.names.context import Migration
from tfmigrate.plan.names.moved import has_uses, moved_modules, run_with
from tfmigrate.plan.names.program_imports import imports_only, plan_imports, unused
from tfmigrate.plan.names.shared_helpers import share_helpers
from tfmigrate.plan.names.tables import Tables
from tfmigrate.plan.on_strategy.strategy_methods import plan_strategy_methods
from tfmigrate.plan.planner.alike import alike_when_edited
from tfmigrate.plan.planner.reported import (
    say_emptied,
    say_refused,
    say_what_changes_under_refused_uses,
    say_what_changes_with_others,
)
from tfmigrate.plan.planner.settling import settled
from tfmigrate.plan.planner.wraps import migrate_wraps
from tfmigrate.plan.strategy.eligible import follow
from tfmigrate.plan.strategy.model_group import Refusal, related_models
from tfmigrate.plan.strategy.other_uses import say_other_uses
from tfmigrate.plan.strategy.own_copies import say_unused
from tfmigrate.plan.strategy.placement import Placement
from tfmigrate.plan.strategy.remains import Remains
from tfmigrate.plan.strategy.unused_wraps import drop_unused, unused_wraps
from tfmigrate.rules import Rule
from tfmigrate.understand.blocks import Unit
from tfmigrate.understand.lifecycle import ProgramFacts, Wrap
from tfmigrate.understand.module import Module
from tfmigrate.understand.values import ModelObject

_OF_STRATEGIES = ("tensorflow.distribute", "tensorflow.contrib.distribute")


def plan_program(facts: ProgramFacts, drafts: Mapping[Module, Draft], rules: Iterable[Rule]) -> dict[Module, Plan]:
    """All that will be done to each module of a program, and all that is reported about it."""
    followed, refused = follow(facts, drafts)
    for draft in drafts.values():
        say_other_uses(draft, facts)
    unused = unused_wraps(followed.wraps, facts, drafts)
    drop_unused(unused, followed.wraps, facts, drafts)
    wraps = [wrap for wrap in followed.wraps if wrap.call not in unused]
    set_to_one = [wrap for wrap in followed.set_to_one if wrap.call not in unused]
    placements, remains = _with_settings(wraps, set_to_one, refused, facts, drafts)
    saving, copies = migrate_wraps(placements, remains, refused, facts, drafts)
    say_refused(refused, facts, drafts)
    estimators: list[workers.OfEstimator] = []
    if facts.estimators:
        from tfmigrate.plan.estimator.estimators import plan_estimators  # Late: a dozen modules that few programs need.

        estimators = plan_estimators(facts, drafts)
    rules = tuple(rules)
    raised: dict[cst.Call, list[Unit]] = {}
    for call, unit in (pair for placed in placements for pair in placed.raised.sessions):
        raised.setdefault(call, []).append(unit)
    renamed = _plan_interfaces(facts, drafts, rules, _single_models(placements, facts), raised, copies)
    for module, edit in reversed([raised_edit for placement in placements for raised_edit in placement.raised.edits]):
        drafts[module].edits.append(edit)
    plan_strategy_methods(drafts, rules)
    making = {placement.owner.module for placement in placements if placement.over_workers}
    for module in making | saving:
        workers.begin(drafts[module], makes=module in making, saves=module in saving)
    if not placements:
        # Late: these are for programs that are on a strategy already.
        from tfmigrate.plan.on_strategy.arrays import plan_arrays_on_strategy
        from tfmigrate.plan.on_strategy.misuse import plan_misuses
        from tfmigrate.plan.on_strategy.rescope import plan_rescoping

        apart = related_models(facts.wraps, facts)
        moved = plan_rescoping(facts, drafts, apart)
        plan_arrays_on_strategy(facts, drafts, apart, moved)
        plan_misuses(facts, drafts, apart, moved, rules, renamed)
        workers.plan_onto_workers(facts, drafts, estimators)
    say_what_changes_under_refused_uses(facts, drafts)
    say_what_changes_with_others(drafts)
    say_emptied(drafts)
    for draft in drafts.values():
        draft.edits.extend(alike_when_edited(draft))
        draft.edits.extend(comments_that_go(draft))
    return {module: draft.plan() for module, draft in drafts.items()}


def _with_settings(
    wraps: Sequence[Wrap],
    set_to_one: Sequence[Wrap],
    refused: dict[cst.Call, Refusal],
    facts: ProgramFacts,
    drafts: Mapping[Module, Draft],
) -> tuple[list[Placement], dict[Module, Remains]]:
    """As `settled`. What wraps once its number of GPUs is set to more gets a strategy too, where that keeps no other
    wrap from one; else it is reported."""
    if set_to_one:
        tried = dict(refused)
        of_all = settled((*wraps, *set_to_one), tried, facts, drafts)
        if tried == refused:
            return of_all
    of_others = settled(wraps, refused, facts, drafts)
    reported = set()
    for wrap in set_to_one:
        *_, caller = wrap.site.chain()
        if wrap.call in refused or caller.unit in reported:
            continue
        reported.add(caller.unit)
        module = wrap.site.frame.module
        count = module.code(wrap.gpus) if wrap.gpus is not None else "the number of GPUs"
        place = module.place(wrap.call, caller.frame.module)
        message = (
            f"as {count} of multi_gpu_model at {place} is set now, the model built here trains on one GPU, and still "
            "will if it is set to more; to train on several, build and compile it in the scope of a MirroredStrategy"
        )
        drafts[caller.frame.module].say(codes.GPUS_TOO_LATE, caller.unit, message, "warn")
    return of_others


def _plan_interfaces(
    facts: ProgramFacts,
    drafts: Mapping[Module, Draft],
    rules: tuple[Rule, ...],
    single: Set[ModelObject],
    raised: Mapping[cst.Call, Sequence[Unit]],
    copies: Set[Module],
) -> set[Module]:
    """What else the old Keras had: all of it in the modules that leave it, names alone where they are asked for.

    Names of strategies are said in any case: a program is looked at because it uses them.
    `single`: models that no strategy has to do with; `raised`: see Migration; `copies`: files of copies of
    multi_gpu_model, which stay as they are where nothing uses them any more.
    Returns the modules that leave the old Keras.
    """
    moved = moved_modules(facts, drafts)
    idle, staying = imports_only(drafts, moved)
    moved |= idle | (run_with(idle, facts, drafts) - staying)
    copies = unused(copies, drafts)
    say_unused(copies, drafts)
    moved -= copies
    spreads = any(map(has_uses, drafts.values())) or _has_strategy(facts, drafts)
    alone = single if spreads else frozenset(facts.models)
    migration = Migration(facts, drafts, moved, alone, raised, spreads)
    tables: dict[Module, Tables] = {}
    unread: dict[Module, frozenset[cst.ImportAlias]] = {}
    for draft in drafts.values():
        wanted = frozenset(rule.code for rule in rules if draft.settings.wants(rule.code))
        if draft.module in moved:
            exported = {name for module, name in facts.exported if module is draft.module}
            tables[draft.module] = Tables.of(rules, wanted)
            unread[draft.module] = plan_companions(draft, tables[draft.module], migration, exported)
        elif draft.module in copies:
            continue
        elif draft.settings.asks_for_names:
            plan_readiness(draft, Tables.of(rules, wanted))
        elif not facts.estimators:
            plan_readiness(draft, Tables.of(rules, wanted), _OF_STRATEGIES)
    share_helpers(facts, drafts, tables)
    plan_imports(drafts, tables, unread)
    return set(tables)


def _single_models(placements: Collection[Placement], facts: ProgramFacts) -> frozenset[ModelObject]:
    """The models that no strategy has to do with, where every strategy of the program is one that is made here.

    One that a builder makes beside a parallel one is made in the scope too.
    """
    if not placements or facts.entered or facts.scopes_elsewhere:
        return frozenset()
    groups = (group for placement in placements for group in placement.owner.groups)
    others = frozenset(facts.models).difference(*(group.models for group in groups))
    return frozenset(
        other for other in others if not any(placement.stands_round(other.sites) for placement in placements)
    )


def _has_strategy(facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> bool:
    """Whether a program does something with a strategy of its own, or has what may be a copy of multi_gpu_model."""
    if any(known.copies for known in facts.modules.values()):
        return True
    symbols = (name for known in facts.modules.values() for name in known.symbols.values())
    if not any(name.startswith(_OF_STRATEGIES) for name in symbols):
        return False
    from tfmigrate.plan.on_strategy.idle import is_all_idle  # Late: few programs have a strategy that they do not use.

    return not is_all_idle(facts, drafts, _OF_STRATEGIES)
