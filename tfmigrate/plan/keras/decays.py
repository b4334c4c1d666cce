"""`decay=` of an optimizer: a schedule where nothing sets the rate, else a callback beside a rate that can be set."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Set
from dataclasses import dataclass, field

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import FIT, FIT_GENERATOR, Revision, has_stars, is_none, keywords, named_arguments
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Append, Replace
from tfmigrate.plan.keras.rates import SETTERS, rates_set
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand import names
from tfmigrate.understand.carrier import Carrier
from tfmigrate.understand.lifecycle import TRAINING, Facts, ProgramFacts, Use
from tfmigrate.understand.program import Module
from tfmigrate.understand.values import Instance, Items, Literal, Opaque, Site, Value, options
from tfmigrate.written import Code, Written

_PARAMETERS: Mapping[str, tuple[str, ...]] = {"fit": FIT, "fit_generator": FIT_GENERATOR}
_HELPER = "LearningRateDecay"
_KEEPER = "keep_decay"
_ASKER = "OptimizerDecay"
_SCHEDULES = "keras.optimizers.schedules."
_PREDICTING = frozenset(
    {"predict", "predict_generator", "predict_on_batch", "evaluate", "evaluate_generator", "test_on_batch"}
)
"""The methods that ask a model, and change nothing in it."""


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
    drafts = migration.drafts
    calls = [
        (module, call)
        for module, draft in drafts.items()
        if module in migration.leaving
        for call in module.calls
        if decays(call, draft.facts) and draft.allows(codes.OPTIMIZER_DECAY, call)
    ]
    if not calls:
        return Decays()
    training = _Training(migration.facts)
    carrier = Carrier(drafts)
    divided: dict[cst.Call, dict[cst.Call, Written]] = {}
    stuck: dict[cst.Call, str] = {}
    for _, call in calls:
        reason = training.sets_rate_of(call) or training.may_set_rate_of(call)
        if reason is None:
            continue
        trained = _codes_at_trainings(call, training, carrier, migration.leaving)
        if trained is None:
            stuck[call] = reason
        else:
            divided[call] = trained
    # One fit() may train models of several optimizers, which must all have the same decay then.
    while clash := _clash(divided):
        stuck[clash] = training.sets_rate_of(clash) or training.may_set_rate_of(clash) or ""
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


def _joins(call: cst.Call, stuck: bool, asking: Set[cst.Call], training: _Training, migration: Migration) -> bool:
    """Whether an optimizer can keep its decay beside its rate: all that trains with it can be given a callback, and no
    other model has it. One that needs no such thing does so where it shares a fit() with one that does."""
    uses = training.uses(call)
    if not uses or training.shared(call):
        return False
    return (stuck or any(use.call in asking for use in uses)) and all(
        use.method in _PARAMETERS
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
    if not names.is_optimizer(facts.symbols.get(call.func, "")) or has_stars(call):
        return False
    decay = keywords(call).get("decay")
    if decay is None or is_none(decay.value):
        return False
    return not (isinstance(decay.value, cst.Float | cst.Integer) and decay.value.evaluated_value == 0)


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
        callbacks = (named_arguments(call, _PARAMETERS[method]) or keywords(call)).get("callbacks")
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
        callbacks = (named_arguments(call, _PARAMETERS[method]) or keywords(call)).get("callbacks")
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
    training: _Training | None = None
    for call in facts.module.calls:
        reason = decays.stuck.get(call)
        schedule = _schedule(call, facts) if reason is None else None
        if schedule is not None:
            training = training or _Training(program)
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
    if not names.is_optimizer(facts.symbols.get(call.func, "")) or has_stars(call):
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


class _Training:
    """Which calls train with an optimizer, and what sets its rate."""

    def __init__(self, facts: ProgramFacts) -> None:
        self._facts = facts
        self._compiling = [use for use in facts.uses if use.method == "compile"]
        self._compiles: dict[cst.CSTNode, list[tuple[Use, Site]]] = {}
        for use in self._compiling:
            for site, node in use.optimizers:
                if node is not None:
                    self._compiles.setdefault(node, []).append((use, site))
        self._set = [(known, *setting) for known in facts.modules.values() for setting in rates_set(known)]

    def made(self, call: cst.Call) -> frozenset[Site]:
        """Where an optimizer is made, once for each activation of the function round it."""
        return frozenset(site for _, site in self._compiles.get(call, ()))

    def uses(self, call: cst.Call) -> list[Use]:
        """The calls that train the models of an optimizer."""
        models = {model for use, _ in self._compiles.get(call, ()) for model in use.models}
        uses = (use for use in self._facts.uses if use.method in TRAINING and use.models & models)
        return [use for use in uses if not (last := self._last_compile(use)) or call in _optimizers(last)]

    def shared(self, call: cst.Call) -> bool:
        """Whether an optimizer is that of one of several models, each of which gets its own.

        A compile() of one model or another, which a condition chooses, is of one.
        """
        uses = [use for use, _ in self._compiles.get(call, ())]
        if any(len(use.models) > 1 and _in_loop(use) for use in uses):
            return True
        return len({use.models for use in uses}) > 1

    def others(self, call: cst.Call) -> bool:
        """Whether what trains with an optimizer may train with another one too, or one that is unknown."""
        unsure = [
            use for use in self.uses(call) if not (last := self._last_compile(use)) or _optimizers(last) != {call}
        ]
        models = {model for use in unsure for model in use.models}
        return any(_optimizers(use) != {call} for use in self._compiling if use.models & models)

    def _last_compile(self, use: Use) -> Use | None:
        """The compile() that is surely the last before a training; None where that may be another one each time."""
        frame, here = use.site.frame, use.site.unit
        module, order = frame.module, frame.module.order
        compiles = [other for other in self._compiling if other.models & use.models]
        places = [(site.unit, other) for other in compiles if (site := other.site.lifted(frame)) is not None]
        earlier = [(unit, other) for unit, other in places if order[unit] < order[here]]
        if not earlier or len(places) < len(compiles):
            return None
        unit, last = max(earlier, key=lambda place: order[place[0]])
        round_last, round_use = {*module.ancestors(unit)}, {*module.ancestors(here)}
        if last.site.frame is not frame or not round_last <= round_use or module.exclusive(unit, here):
            return None
        # Where a loop does not hold the last one, one further down in it runs before the next training.
        loops = {owner for owner in round_use - round_last if isinstance(owner, cst.For | cst.While)}
        return None if any(not loops.isdisjoint(module.ancestors(other)) for other, _ in places) else last

    def sets_rate_of(self, call: cst.Call) -> str | None:
        """What surely sets the rate of an optimizer, in words."""
        for known, node, what in self._set:
            return f"{what} at {self._place(known, node)} sets it"
        for use in self.uses(call):
            for value in self._callbacks(use):
                title = self._setter(value)
                if title is not None:
                    return f"{title} of the {use.method}() at {self._place(self._home(use), use.call)} sets it"
        return None

    def may_set_rate_of(self, call: cst.Call) -> str | None:
        """What may set it, in words: unknown callbacks, or unknown training."""
        uses = self.uses(call)
        if not uses:
            unseen = "no fit() of its model was found, so its callbacks are unknown and may set the rate"
            return None if self._only_predicts(call) else unseen
        for use in uses:
            for value in self._callbacks(use):
                if not self._is_harmless(value):
                    place = self._place(self._home(use), use.call)
                    return f"the {use.method}() at {place} gets unknown callbacks, which may set it"
        return None

    def _only_predicts(self, call: cst.Call) -> bool:
        """Whether the program predicts or evaluates with the models of an optimizer, and trains nothing."""
        models = {model for use, _ in self._compiles.get(call, ()) for model in use.models}
        asked = any(use.method in _PREDICTING and use.models & models for use in self._facts.uses)
        return asked and not any(use.method in TRAINING for use in self._facts.uses)

    def _home(self, use: Use) -> Facts:
        return self._facts.modules[use.site.frame.module]

    @staticmethod
    def _place(known: Facts, node: cst.CSTNode) -> str:
        return known.module.place(node)

    def _callbacks(self, use: Use) -> Iterator[Value]:
        """All that a training call is given for its callbacks, each on its own."""
        if use.method not in _PARAMETERS:
            return
        callbacks = use.argument(_PARAMETERS[use.method].index("callbacks"), "callbacks")
        if callbacks is None and has_stars(use.call):
            yield Opaque("callbacks")
        for option in options(callbacks) if callbacks is not None else ():
            if isinstance(option, Items):
                for item in option.values:
                    yield from options(item)
            elif option != Literal(None):
                yield option

    def _names(self, value: Value) -> list[str]:
        """The classes of libraries that an object is of, by their qualified names."""
        if isinstance(value, Instance):
            return [names.canonical(base) for base in value.cls.outside_bases()]
        if isinstance(value, Opaque) and isinstance(value.node, cst.Call):
            symbols = (known.symbols.get(value.node.func) for known in self._facts.modules.values())
            return [names.canonical(name) for name in symbols if name is not None]
        return []

    def _setter(self, value: Value) -> str | None:
        return next((name.rsplit(".", 1)[-1] for name in self._names(value) if name in SETTERS), None)

    def _is_harmless(self, value: Value) -> bool:
        known = self._names(value)
        return bool(known) and all(name.startswith("keras.callbacks.") for name in known)


def _optimizers(compiled: Use) -> set[cst.CSTNode | None]:
    """What makes the optimizers that a compile() may be given; None for one that is unknown."""
    return {node for _, node in compiled.optimizers}


def _in_loop(use: Use) -> bool:
    return any(isinstance(owner, cst.For | cst.While) for owner in use.site.frame.module.ancestors(use.site.unit))


def _codes_at_trainings(
    call: cst.Call, training: _Training, carrier: Carrier, moved: Container[Module]
) -> dict[cst.Call, Written] | None:
    """The code for an optimizer's decay at each call that trains with it; None where one cannot be given a callback."""
    uses, decay = training.uses(call), keywords(call)["decay"].value
    if not uses or training.others(call):
        return None
    codes_: dict[cst.Call, Written] = {}
    for use in uses:
        stars = has_stars(use.call) and "callbacks" not in keywords(use.call)
        if use.method not in _PARAMETERS or stars or use.site.frame.module not in moved:
            return None
        for site in training.made(call):
            code = carrier.at(decay, site, use.site.frame, use.site.unit)
            if code is None or codes_.setdefault(use.call, code) != code:
                return None
    return codes_
