"""`decay=` of an optimizer: a schedule where nothing sets the rate, else a callback beside a rate that can be set."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Set
from dataclasses import dataclass, field

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, has_stars, is_none, is_zero, keywords, named_arguments
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Append, Replace
from tfmigrate.plan.keras.optimizer_training import WITH_CALLBACKS, Training
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand import names
from tfmigrate.understand.carrier import Carrier
from tfmigrate.understand.lifecycle import Facts, ProgramFacts
from tfmigrate.understand.module import Module
from tfmigrate.understand.values import Items, Literal, Opaque
from tfmigrate.written import Code, Written

_HELPER = "LearningRateDecay"
_KEEPER = "keep_decay"
_ASKER = "OptimizerDecay"
_SCHEDULES = "keras.optimizers.schedules."


@dataclass(frozen=True)
class Decays:
    """What the `decay=` of a program's optimizers become."""

    divided: frozenset[cst.Call] = frozenset()
    """The optimizers that keep their rate as a number, which a callback divides; the others get a schedule."""
    trainings: Mapping[cst.Call, Written] = field(default_factory=dict)
    """The calls that train with these, and the code for the decay that holds there."""
    kept: frozenset[cst.Call] = frozenset()
    """The optimizers that keep their rate, and their decay beside it: a fit() may train with this one or another."""
    asking: frozenset[cst.Call] = frozenset()
    """The calls that train with these, whose callback asks the optimizer for its decay."""
    stuck: Mapping[cst.Call, str] = field(default_factory=dict)
    """The optimizers that get a schedule though something sets their rate, or may: what that is."""


def decays_of(migration: Migration) -> Decays:
    """The form of each `decay=` in the modules that leave the old Keras."""
    calls = list(_decaying(migration))
    if not calls:
        return Decays()
    training = Training(migration.facts)
    carrier = Carrier(migration.drafts)
    divided: dict[cst.Call, dict[cst.Call, Written]] = {}
    stuck: dict[cst.Call, str] = {}
    for call in calls:
        reason = training.sets_or_may_set_rate_of(call)
        if reason is None:
            continue
        trained = _codes_at_trainings(call, training, carrier, migration.leaving)
        if trained is None:
            stuck[call] = reason
        else:
            divided[call] = trained
    # One fit() may train models of several optimizers, which must all have the same decay then.
    while clash := _clash(divided):
        stuck[clash] = training.sets_or_may_set_rate_of(clash) or ""
        del divided[clash]
    kept: set[cst.Call] = set()
    asking: set[cst.Call] = set()
    while more := [call for call in (*stuck, *divided) if _joins(call, call in stuck, asking, training, migration)]:
        for call in more:
            stuck.pop(call, None)
            divided.pop(call, None)
            kept.add(call)
            asking.update(use.call for use in training.uses(call))
    trainings = {fit: code for fits in divided.values() for fit, code in fits.items()}
    return Decays(frozenset(divided), trainings, frozenset(kept), frozenset(asking), stuck)


def _decaying(migration: Migration) -> Iterator[cst.Call]:
    """The optimizers with a `decay=` in the modules that leave the old Keras."""
    for module, draft in migration.drafts.items():
        for call in module.calls if module in migration.leaving else ():
            if decays(call, draft.facts) and draft.allows(codes.OPTIMIZER_DECAY, call):
                yield call


def _joins(call: cst.Call, stuck: bool, asking: Set[cst.Call], training: Training, migration: Migration) -> bool:
    """Whether an optimizer can keep its decay beside its rate: all that trains with it can be given a callback, and no
    other model has it. One that needs no such thing does so where it shares a fit() with one that does."""
    uses = training.uses(call)
    if not uses or training.shared(call):
        return False
    return (stuck or any(use.call in asking for use in uses)) and all(
        use.method in WITH_CALLBACKS
        and use.site.frame.module in migration.leaving
        and not (has_stars(use.call) and "callbacks" not in keywords(use.call))
        for use in uses
    )


def _clash(divided: Mapping[cst.Call, Mapping[cst.Call, Written]]) -> cst.Call | None:
    seen: dict[cst.Call, Written] = {}
    for call, fits in divided.items():
        if any(seen.setdefault(fit, code) != code for fit, code in fits.items()):
            return call
    return None


def decays(call: cst.Call, facts: Facts) -> bool:
    """Whether a call makes an optimizer whose `decay=` may be another number than 0."""
    if not names.is_optimizer(facts.called(call)) or has_stars(call):
        return False
    decay = keywords(call).get("decay")
    return decay is not None and not is_none(decay.value) and not is_zero(decay.value)


def check(context: Context) -> Iterator[CallChange]:
    decays = context.migration.once(decays_of)
    yield from decaying_callbacks(context.draft, decays)
    yield from _kept_decays(context.draft, decays)
    yield from rates_of_schedules(context.facts, context.migration.facts, decays)


def decaying_callbacks(draft: Draft, decays: Decays) -> Iterator[CallChange]:
    """The callback that divides the rate, in each fit() of this module that trains with such an optimizer."""
    helper = Helper.of(draft, _HELPER, "decaying")
    own = [(use, decays.trainings[use.call]) for use in draft.facts.uses if use.call in decays.trainings]
    calls = {use.call: (use.method, code) for use, code in own}
    changes = []
    for call, (method, code) in calls.items():
        message = f"the callback {helper} divides the rate by `1 + decay * step`, as `decay=` did"
        callbacks = (named_arguments(call, WITH_CALLBACKS[method]) or keywords(call)).get("callbacks")
        new = (f"{helper}(", *code.code, ")")
        edit = _with_callback(call, callbacks.value if callbacks is not None else None, new, draft.facts)
        changes.append(CallChange(codes.OPTIMIZER_DECAY, call, message, edit))
    yield from helper.brought_by(calls, changes)


def _kept_decays(draft: Draft, decays: Decays) -> Iterator[CallChange]:
    """The optimizers of this module that keep their decay, and the callback in each fit() that asks for it."""
    keeper, asker = Helper.of(draft, _KEEPER), Helper.of(draft, _ASKER, "optimizer_decay")
    changes = []
    for call in (maker for maker in draft.module.calls if maker in decays.kept):
        message = f"the rate stays a number, which callbacks set; the optimizer keeps its decay for {_ASKER}"
        wrapped = Replace(call, (f"{keeper}(", call, ", ", keywords(call)["decay"].value, ")"))
        changes.append(CallChange(codes.OPTIMIZER_DECAY, call, message, wrapped))
    yield from keeper.brought_by([change.node for change in changes], changes)
    calls = {use.call: use.method for use in draft.facts.uses if use.call in decays.asking}
    changes = []
    for call, method in calls.items():
        message = f"the callback {asker} divides the rate that callbacks set by the decay of the optimizer"
        callbacks = (named_arguments(call, WITH_CALLBACKS[method]) or keywords(call)).get("callbacks")
        edit = _with_callback(call, callbacks.value if callbacks is not None else None, (f"{asker}()",), draft.facts)
        changes.append(CallChange(codes.OPTIMIZER_DECAY, call, message, edit))
    yield from asker.brought_by(calls, changes)


def _with_callback(
    call: cst.Call, callbacks: cst.BaseExpression | None, new: Code, facts: Facts
) -> Revision | Append | Replace:
    if callbacks is None:
        return Revision(call, set=(("callbacks", ("[", *new, "]")),))
    if isinstance(callbacks, cst.List):
        return Append(callbacks, new)
    values = facts.options(callbacks)
    if values and all(isinstance(option, Items) and option.kind == "list" for option in values):
        return Replace(callbacks, ("[*", callbacks, ", ", *new, "]"))
    if values == {Literal(None)}:
        return Replace(callbacks, ("[", *new, "]"))
    return Replace(callbacks, ("[*(", callbacks, " or []), ", *new, "]"))


def rates_of_schedules(facts: Facts, program: ProgramFacts, decays: Decays) -> Iterator[CallChange]:
    """Optimizers of a module with a schedule, written so or out of `decay=`, whose rate something sets: Keras 3 fails.

    Of what `decay=` became, InverseTimeDecay in steps of 1, it is reported too where the training is not found.
    """
    training: Training | None = None
    for call in facts.module.calls:
        reason = decays.stuck.get(call)
        schedule = _schedule(call, facts) if reason is None else None
        if schedule is not None:
            training = training or Training(program)
            reason = training.sets_rate_of(call)
            if reason is None and _is_decay(schedule, facts):
                reason = training.may_set_rate_of(call)
        if reason is not None:
            message = (
                f"Keras 3 cannot set the rate of an optimizer that has a schedule (TypeError), and {reason}: give the "
                "optimizer a number, and fit() a callback that divides it (`tfmigrate explain TFM305`)"
            )
            yield CallChange(codes.RATE_IS_SCHEDULE, call, message, action="warn")


def _schedule(call: cst.Call, facts: Facts) -> cst.Call | None:
    """The call that makes the schedule which an optimizer is given for its rate."""
    if not names.is_optimizer(facts.called(call)) or has_stars(call):
        return None
    named = named_arguments(call, ("learning_rate",)) or keywords(call)
    rate = named.get("learning_rate")
    if rate is None:
        return None
    makers = [rate.value, *(option.node for option in facts.options(rate.value) if isinstance(option, Opaque))]
    for node in makers:
        if isinstance(node, cst.Call) and facts.canonical(node.func).startswith(_SCHEDULES):
            return node
    return None


def _is_decay(schedule: cst.Call, facts: Facts) -> bool:
    known = facts.canonical(schedule.func)
    named = named_arguments(schedule, ("initial_learning_rate", "decay_steps", "decay_rate")) or {}
    steps = named.get("decay_steps")
    is_one = steps is not None and isinstance(steps.value, cst.Integer) and steps.value.evaluated_value == 1
    return known == f"{_SCHEDULES}InverseTimeDecay" and is_one


def _codes_at_trainings(
    call: cst.Call, training: Training, carrier: Carrier, moved: Container[Module]
) -> dict[cst.Call, Written] | None:
    """The code for an optimizer's decay at each call that trains with it; None where one cannot be given a callback."""
    uses, decay = training.uses(call), keywords(call)["decay"].value
    if not uses or training.others(call):
        return None
    codes_: dict[cst.Call, Written] = {}
    for use in uses:
        stars = has_stars(use.call) and "callbacks" not in keywords(use.call)
        if use.method not in WITH_CALLBACKS or stars or use.site.frame.module not in moved:
            return None
        for site in training.made(call):
            code = carrier.at(decay, site, use.site.frame, use.site.unit)
            if code is None or codes_.setdefault(use.call, code) != code:
                return None
    return codes_
