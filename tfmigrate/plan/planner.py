"""Facts -> Plans: the migration from wrap to strategy, readable from top to bottom."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import TypeVar

import libcst as cst

from tfmigrate.plan import codes, workers
from tfmigrate.plan.change.functions import imports_only_in
from tfmigrate.plan.comments.going import comments_that_go
from tfmigrate.plan.data.arrays import plan_arrays
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Insert, Plan, Scope, Unwrap, place_of
from tfmigrate.plan.keras import cautions, out_of_sight
from tfmigrate.plan.keras.companions import plan_companions, plan_readiness
from tfmigrate.plan.keras.own_optimizers import plan_own_optimizers
from tfmigrate.plan.keras.sessions import session_lines
from tfmigrate.plan.keras.toggles import plan_toggles
from tfmigrate.plan.names.context import Migration
from tfmigrate.plan.names.moved import has_uses, moved_modules, run_with
from tfmigrate.plan.names.program_imports import imports_only, plan_imports, unused
from tfmigrate.plan.names.shared_helpers import share_helpers
from tfmigrate.plan.names.tables import Tables
from tfmigrate.plan.on_strategy.arrays import plan_arrays_on_strategy
from tfmigrate.plan.on_strategy.misuse import plan_misuses
from tfmigrate.plan.on_strategy.rescope import plan_rescoping
from tfmigrate.plan.on_strategy.strategy_methods import plan_strategy_methods
from tfmigrate.plan.strategy.batch_statistics import say_batch_statistics
from tfmigrate.plan.strategy.callback_templates import write_templates_in_callbacks
from tfmigrate.plan.strategy.copied import can_be_copied, copy_models, remake_optimizers, why_not_copied
from tfmigrate.plan.strategy.eligible import follow, wraps_in
from tfmigrate.plan.strategy.in_callbacks import (
    clashing,
    during_trainings,
    left_to_callers,
    say_used_in_callbacks,
    shared,
)
from tfmigrate.plan.strategy.model_group import Refusal, related_models
from tfmigrate.plan.strategy.one_for_all import made_once
from tfmigrate.plan.strategy.other_uses import say_other_uses
from tfmigrate.plan.strategy.own_copies import drop_own_copies, say_unused
from tfmigrate.plan.strategy.owner import Owner, owners_of
from tfmigrate.plan.strategy.placement import (
    Placement,
    called_in_scopes,
    make_strategy,
    placements_of,
    scope_far_places,
    scope_methods,
)
from tfmigrate.plan.strategy.remains import Remains, remains_of
from tfmigrate.plan.strategy.second_strategies import say_second_strategies
from tfmigrate.plan.strategy.spread_anew import say_spread_anew
from tfmigrate.plan.strategy.trail import story_of, trail_of
from tfmigrate.plan.strategy.unused_wraps import drop_unused, say_unused_in_scope, unused_wraps
from tfmigrate.plan.strategy.unwrap import say_unsure_templates, unwrapped
from tfmigrate.rules import Rule
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import ProgramFacts, Wrap
from tfmigrate.understand.program import Module, Unit, dotted, is_docstring, only_statement
from tfmigrate.understand.values import ClassValue, Frame, ModelObject

_Shared = TypeVar("_Shared")
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
    saving, copies = _migrate(placements, remains, refused, facts, drafts)
    _say_refused(refused, facts, drafts)
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
        apart = related_models(facts.wraps, facts)
        moved = plan_rescoping(facts, drafts, apart)
        plan_arrays_on_strategy(facts, drafts, apart, moved)
        plan_misuses(facts, drafts, apart, moved, rules, renamed)
        workers.plan_onto_workers(facts, drafts, estimators)
    _say_what_changes_under_refused_uses(facts, drafts)
    _say_what_changes_with_others(drafts)
    _say_emptied(drafts)
    for draft in drafts.values():
        draft.edits.extend(comments_that_go(draft))
    return {module: draft.plan() for module, draft in drafts.items()}


def _with_settings(
    wraps: Sequence[Wrap],
    set_to_one: Sequence[Wrap],
    refused: dict[cst.Call, Refusal],
    facts: ProgramFacts,
    drafts: Mapping[Module, Draft],
) -> tuple[list[Placement], dict[Module, Remains]]:
    """As `_settled`. What wraps once its number of GPUs is set to more gets a strategy too, where that keeps no other
    wrap from one; else it is reported."""
    if set_to_one:
        tried = dict(refused)
        settled = _settled((*wraps, *set_to_one), tried, facts, drafts)
        if tried == refused:
            return settled
    settled = _settled(wraps, refused, facts, drafts)
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
            f"as {count} of multi_gpu_model at {place} is set now, what is built here is trained on one GPU, and will "
            "be when it is set to more; to train on several, build and compile it in the scope of a MirroredStrategy"
        )
        drafts[caller.frame.module].say(codes.GPUS_TOO_LATE, caller.unit, message, "warn")
    return settled


def _settled(
    followed: Iterable[Wrap], refused: dict[cst.Call, Refusal], facts: ProgramFacts, drafts: Mapping[Module, Draft]
) -> tuple[list[Placement], dict[Module, Remains]]:
    """The strategies that can be written, and what remains of the modules then. The other wraps join the refused.

    A call refused in one owner is refused in all, which changes what remains, so this repeats. One whose number of GPUs
    comes too late is tried at its callers first, then where it was, with its model built further down, then in the
    object whose method wraps, and at last with a copy of the model. A function that the scope of another strategy
    stands round leaves making one to its callers.
    """
    callers: dict[Wrap, Frame] = {}
    inside: set[cst.CSTNode] = set()
    late: dict[cst.Call, Refusal] = {}
    sinking: set[cst.Call] = set()
    keeping: set[cst.Call] = set()
    sessions = {module: session_lines(draft, drafts) for module, draft in drafts.items()}
    copying: set[cst.Call] = set()
    followed = list(followed)
    while True:
        for wrap in _copied_instead(refused, copying, facts, drafts):
            if wrap.call in refused:
                late[wrap.call] = refused.pop(wrap.call)
                copying.add(wrap.call)
            callers.pop(wrap, None)
            followed.extend([] if wrap in followed else [wrap])
        refused.update(_kept_by_their_class(facts, refused))
        refused.update(_kept_by_their_object(facts, refused))
        left = (wrap for wrap in followed if wrap.call not in refused)
        owners, ownerless = owners_of(left, facts, drafts, callers, inside, keeping, copying)
        refused.update((call, late[call] if call in copying else why) for call, why in ownerless.items())
        remains = remains_of(owners, refused, facts, drafts)
        placements, unplaced = placements_of(owners, remains, drafts, sinking, sessions, facts)
        for call, refusal in unplaced.items():
            late.setdefault(call, refusal)
        raised = _to_callers(owners, unplaced)
        callers.update(raised)
        tried = {wrap.call for wrap in raised}
        again = {call for call in unplaced.keys() - tried - sinking if late[call].code == codes.GPUS_TOO_LATE}
        sinking |= again
        callers = {wrap: frame for wrap, frame in callers.items() if wrap.call not in again}
        stuck = unplaced.keys() - tried - again
        to_objects = {call for call in stuck - keeping if late[call].code == codes.GPUS_TOO_LATE}
        keeping |= to_objects
        refused.update((call, late[call]) for call in unplaced if call in stuck - to_objects)
        during = during_trainings(placements, facts)
        clashes = clashing(during)
        refused.update(clashes)
        nested = {*called_in_scopes(placements), *left_to_callers(during)} - inside
        inside |= nested
        if not ownerless and not unplaced and not nested and not clashes:
            return made_once(shared(placements, during), facts, drafts), remains


def _kept_by_their_class(facts: ProgramFacts, refused: Mapping[cst.Call, Refusal]) -> dict[cst.Call, Refusal]:
    """The calls of a class that wraps the wrap, where another call of it is refused: all of them go, or none."""

    def why(cls: ClassValue, other: Wrap, _: Wrap) -> str:
        place = other.site.frame.module.place(other.call)
        return (
            f"the class {cls.node.name.value} wraps the model, and stays for its use at {place}, which is not migrated"
        )

    return _staying_with_another(facts, refused, lambda wrap: wrap.wrapper_class, why)


def _kept_by_their_object(facts: ProgramFacts, refused: Mapping[cst.Call, Refusal]) -> dict[cst.Call, Refusal]:
    """The calls whose parallel model is kept on an object, where another call that sets the same attribute is refused:
    what reads it cannot be written for both."""

    def why(kept_at: tuple[cst.CSTNode, str], other: Wrap, wrap: Wrap) -> str:
        place = other.site.frame.module.place(other.call, wrap.site.frame.module)
        return f"`{kept_at[1]}` is set at {place} too, which is not migrated"

    return _staying_with_another(facts, refused, _kept_at, why)


def _staying_with_another(
    facts: ProgramFacts,
    refused: Mapping[cst.Call, Refusal],
    shared: Callable[[Wrap], _Shared | None],
    why: Callable[[_Shared, Wrap, Wrap], str],
) -> dict[cst.Call, Refusal]:
    """The calls that stay because one with which they share something is refused.

    `why`: the reason to report, from what they share, the refused wrap and the one that stays with it.
    """
    staying = {
        key: wrap for wrap in reversed(facts.wraps) if wrap.call in refused and (key := shared(wrap)) is not None
    }
    return {
        wrap.call: Refusal(codes.NOT_FOLLOWED, why(key, staying[key], wrap))
        for wrap in facts.wraps
        if wrap.call not in refused and (key := shared(wrap)) is not None and key in staying
    }


def _kept_at(wrap: Wrap) -> tuple[cst.CSTNode, str] | None:
    """The class and the attribute of `self.parallel = multi_gpu_model(...)`."""
    statement = only_statement(wrap.site.unit)
    if not isinstance(statement, cst.Assign) or statement.value is not wrap.call:
        return None
    owners = wrap.site.frame.module.ancestors(wrap.site.unit)
    cls = next((owner for owner in owners if isinstance(owner, cst.ClassDef)), None)
    name = next((dotted(one.target) for one in statement.targets if isinstance(one.target, cst.Attribute)), None)
    return (cls, name) if cls is not None and name else None


def _copied_instead(
    refused: Mapping[cst.Call, Refusal],
    copying: Container[cst.Call],
    facts: ProgramFacts,
    drafts: Mapping[Module, Draft],
) -> list[Wrap]:
    """The wraps of refused calls that can stay, as copies of their models."""
    tried = [wrap for wrap in facts.wraps if wrap.call in refused and wrap.call not in copying]
    staying = {wrap.call for wrap in tried if not can_be_copied(wrap, refused[wrap.call], facts, drafts)}
    modules = {wrap.call: wrap.site.frame.module for wrap in tried if wrap.call not in staying}
    for call, module in modules.items():
        drafts[module].leave(codes.COPIED_MODEL, call)
    allowed = {call for call, module in modules.items() if drafts[module].allows(codes.COPIED_MODEL, call)}
    return [wrap for wrap in tried if wrap.call in allowed]


def _to_callers(owners: Iterable[Owner], unplaced: Mapping[cst.Call, Refusal]) -> dict[Wrap, Frame]:
    """Where the wraps may be owned instead whose number of GPUs comes too late for their owner: in its callers."""
    outer: dict[Wrap, Frame] = {}
    stuck: set[cst.Call] = set()
    for owner in owners:
        for group in owner.groups:
            for wrap in group.wraps:
                refusal = unplaced.get(wrap.call)
                late = refusal is not None and refusal.code == codes.GPUS_TOO_LATE
                if late and group.owner.call is not None and not owner.kept:
                    outer[wrap] = group.owner.call.frame
                else:
                    stuck.add(wrap.call)
    return {wrap: frame for wrap, frame in outer.items() if wrap.call not in stuck}


def _migrate(
    placements: Collection[Placement],
    remains: Mapping[Module, Remains],
    refused: Mapping[cst.Call, Refusal],
    facts: ProgramFacts,
    drafts: Mapping[Module, Draft],
) -> tuple[set[Module], set[Module]]:
    """Take the wraps out, put the strategies in.

    Returns the modules whose models the chief of several machines saves, and the files of copies of multi_gpu_model.
    """
    for module, left in remains.items():
        drafts[module].edits.extend(left.edits(refused))
        for function in left.idle:
            message = f"{function.name.value}() only wrapped the model that it is given: it is removed with its calls"
            drafts[module].say(codes.MULTI_GPU_MODEL, function, message, "rewrite")
    for draft in drafts.values():
        draft.edits.extend(unwrapped(draft, refused))
    wraps = [wrap for left in remains.values() for wrap in left.wraps]
    if wraps:
        write_templates_in_callbacks(facts, drafts, refused)
    copied = [wrap for placed in placements for group in placed.owner.groups if group.copied for wrap in group.wraps]
    copy_models(copied, facts, drafts)
    remake_optimizers([group for placed in placements for group in placed.owner.groups if group.copied], drafts)
    staying = {wrap.wrapper_class for wrap in facts.wraps if wrap.call in refused}
    wrapper_classes = dict.fromkeys(gone.wrapper_class for gone in (*wraps, *copied) if gone.wrapper_class is not None)
    _drop_wrapper_classes([wrapper_class for wrapper_class in wrapper_classes if wrapper_class not in staying], drafts)
    copies = drop_own_copies(wraps, facts, drafts)
    saving: set[Module] = set()
    for placement in placements:
        owner = placement.owner
        make_strategy(placement, remains.get(owner.module), drafts[owner.module])
    plan_arrays([placement.owner for placement in placements], drafts)
    for placement in placements:
        owner = placement.owner
        compiles = [use for group in owner.groups for use in group.compiles]
        trainings = [use for group in owner.groups for use in group.trainings]
        cautions.say_trainable_toggles(compiles, trainings, drafts, plan_toggles(compiles, trainings, drafts))
        plan_own_optimizers(compiles, drafts)
        out_of_sight.say_compiled_out_of_sight(owner, facts, drafts)
        out_of_sight.say_optimizers_out_of_sight(owner, drafts)
        out_of_sight.say_parts_out_of_sight(owner, drafts)
        say_spread_anew(placement, facts, drafts)
        say_batch_statistics(placement, facts, drafts)
        if placement.over_workers:
            saving |= workers.plan_owner(owner, facts, drafts)
    say_second_strategies(placements, facts, drafts)
    say_used_in_callbacks(during_trainings(placements, facts), drafts)
    scope_methods(placements, drafts)
    scope_far_places(placements, remains, drafts)
    at_hand = {wrap.call for placed in placements if placed.strategy.taken_from for wrap in placed.owner.wraps}
    for wrap in wraps:
        draft = drafts[wrap.site.frame.module]
        story = story_of(wrap, draft, facts, wrap.call in at_hand)
        draft.say(codes.MULTI_GPU_MODEL, wrap.call, story, "rewrite", trail_of(wrap, facts))
        cautions.say_files_of_old_runs(wrap, facts, drafts)
        cautions.say_undefined(wrap, draft)
    if wraps:
        say_unused_in_scope(wraps, facts, drafts)
        say_unsure_templates(drafts, refused)
        _say_of_other_files(placements, wraps, drafts)
    return saving, copies


def _say_of_other_files(placements: Iterable[Placement], wraps: Sequence[Wrap], drafts: Mapping[Module, Draft]) -> None:
    """A file that changes for a wrap in another file reports which."""
    causes: dict[Module, Wrap] = {}
    for placement in placements:
        for group in placement.owner.groups:
            places = {site.frame.module for model in group.models for site in model.sites}
            for module in (placement.owner.module, *places, *(use.site.frame.module for use in group.compiles)):
                causes.setdefault(module, group.wraps[0])
    for module, draft in drafts.items():
        reported = any(
            finding.code == codes.MULTI_GPU_MODEL and finding.action == "rewrite" for finding in draft.findings
        )
        if draft.edits and not reported:
            wrap = causes.get(module, wraps[0])
            scope = next((edit for edit in draft.edits if isinstance(edit, Scope)), None)
            what = "what is built here is now in the scope of its strategy" if scope else "this file changes with it"
            message = f"for multi_gpu_model at {wrap.site.frame.module.place(wrap.call)}, {what}"
            draft.say(codes.MULTI_GPU_MODEL, place_of(scope) if scope else draft.first_place(), message, "rewrite")


def _say_what_changes_under_refused_uses(facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> None:
    """A file that stays on standalone Keras for a refused use, and imports one that leaves it, says so."""
    leaving = {
        module
        for module, draft in drafts.items()
        if any(finding.code == codes.STANDALONE_KERAS and finding.action == "rewrite" for finding in draft.findings)
    }
    for module, draft in drafts.items():
        imported = sorted(other.path for importing, other in facts.imports if importing is module and other in leaving)
        standalone = any(names.flavour(name) == "keras" for name in draft.facts.symbols.values())
        if draft.edits or not imported or not standalone:
            continue
        note = f"; {imported[0]}, which this file imports, leaves standalone Keras: migrate this use before you run it"
        draft.noted[:] = [
            replace(finding, message=finding.message + note) if finding.action == "refuse" else finding
            for finding in draft.findings
        ]


def _say_what_changes_with_others(drafts: Mapping[Module, Draft]) -> None:
    """A file that changes without a finding of its own points to the file whose findings explain it."""
    rewrites = {
        module: sorted(finding for finding in draft.findings if finding.action == "rewrite")
        for module, draft in drafts.items()
    }
    cause = next(((module, edits[0]) for module, edits in rewrites.items() if edits), None)
    for module, draft in drafts.items():
        if draft.edits and not rewrites[module] and cause is not None:
            other, finding = cause
            message = f"changes together with {other.numbering.words(finding.line)} of {other.path}"
            draft.say(finding.code, draft.first_place(), message, "rewrite")


def _drop_wrapper_classes(wrapper_classes: Collection[ClassValue], drafts: Mapping[Module, Draft]) -> None:
    """Model classes that are the parallel model go with the last one."""
    for wrapper_class in wrapper_classes:
        draft = drafts[wrapper_class.closure.module]
        draft.edits.append(Unwrap(wrapper_class.node, None))
        wrapping = list(wraps_in(wrapper_class, drafts))
        does = "only wraps a model" if wrapping else "splits the batch among the GPUs"
        message = f"the class {wrapper_class.node.name.value}, which {does}, is removed"
        places: list[cst.CSTNode] = [*wrapping] or [wrapper_class.node]
        for place in places:
            draft.say(codes.MULTI_GPU_MODEL, place, message, "rewrite")


def _say_emptied(drafts: Mapping[Module, Draft]) -> None:
    """A file of which nothing is left but imports, and that nothing imports any more, says so."""
    emptied = {module for module, draft in drafts.items() if _is_emptied(draft)}
    for module in unused(emptied, drafts):
        draft = drafts[module]
        draft.noted[:] = [
            replace(finding, message=f"{finding.message}; nothing else is in this file: delete it")
            if finding.message.startswith("the class ") and finding.code == codes.MULTI_GPU_MODEL
            else finding
            for finding in draft.noted
        ]


def _is_emptied(draft: Draft) -> bool:
    going = {edit.unit for edit in draft.edits if isinstance(edit, Unwrap) and isinstance(edit.unit, cst.ClassDef)}
    if not going or any(isinstance(edit, Insert) for edit in draft.edits):
        return False
    rest = (unit for unit in draft.module.tree.body if unit not in going)
    return all(imports_only_in(unit) or is_docstring(only_statement(unit)) for unit in rest)


def _say_refused(refused: Mapping[cst.Call, Refusal], facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> None:
    reported: set[cst.Call] = set()
    for wrap in facts.wraps:
        refusal = refused.get(wrap.call)
        if refusal is None or not refusal.code or wrap.call in reported:
            continue
        reported.add(wrap.call)
        module = wrap.site.frame.module
        reason = why_not_copied(wrap, refusal, facts, drafts)
        message = refusal.message if reason is None else f"{refusal.message}. No copy can be trained instead: {reason}"
        drafts[module].say(refusal.code, wrap.call, message, "refuse", trail_of(wrap, facts))
        if wrap.wrapper_class is not None:
            message = f"stays, because its use at {module.place(wrap.call)} is refused"
            for call in {*wraps_in(wrap.wrapper_class, drafts)} - reported:
                reported.add(call)
                drafts[wrap.wrapper_class.closure.module].say(refusal.code, call, message, "refuse")


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


def _has_strategy(facts: ProgramFacts) -> bool:
    """Whether a program mentions a strategy of its own, or what may be a copy of multi_gpu_model."""
    return any(
        known.copies or any(name.startswith(_OF_STRATEGIES) for name in known.symbols.values())
        for known in facts.modules.values()
    )


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
    spreads = any(map(has_uses, drafts.values())) or _has_strategy(facts)
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
