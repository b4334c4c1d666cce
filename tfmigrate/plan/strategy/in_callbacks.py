"""Wraps that a callback makes while fit() trains under the strategy of another model: it takes the strategy of that.

Keras 2 runs callbacks in the scope of the strategy that trains, and no other one can be entered there: "Mixing
different tf.distribute.Strategy objects" (measured on tf_keras 2.21 in on_train_begin() and on_epoch_end()).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.names.context import Migration
from tfmigrate.plan.names.runs import loaded_with
from tfmigrate.plan.strategy.gpus import replicas
from tfmigrate.plan.strategy.model_group import Group, Refusal, concerns
from tfmigrate.plan.strategy.placement import Placement
from tfmigrate.understand.contents import classes_of
from tfmigrate.understand.lifecycle import ProgramFacts, Use
from tfmigrate.understand.module import Module
from tfmigrate.understand.objects import receiver_of
from tfmigrate.understand.values import ClassValue, Frame

During = Mapping[Placement, tuple[Placement, Use]]
"""For each strategy that is used while another one trains: that one, with the call of fit()."""


def during_trainings(placements: Collection[Placement], facts: ProgramFacts) -> During:
    """The strategies that are used by a callback of a fit() under another one."""
    if len(placements) < 2:
        return {}
    found: dict[Placement, tuple[Placement, Use]] = {}
    for placement in placements:
        classes = {cls.node for group in placement.owner.groups for cls in _callbacks_round(group, facts)}
        trainings = (
            (other, use)
            for other in placements
            for group in (other.owner.groups if classes and other is not placement else ())
            for use in group.trainings
            if not classes.isdisjoint(_given_callbacks(use))
        )
        training = next((pair for pair in trainings if _in_one_run(placement, pair[1], facts)), None)
        if training is not None and not placement.over_workers:
            found[placement] = training
    return found


def _in_one_run(placement: Placement, use: Use, facts: ProgramFacts) -> bool:
    """Whether the script that begins with a call may also be the one that makes a strategy."""
    together = loaded_with(Migration(facts, {}))[_beginning(use.site.frame)]
    return any(_beginning(group.owner) in together for group in placement.owner.groups)


def _beginning(frame: Frame) -> Module:
    """The module in which the first of the calls stands that lead to an activation."""
    *_, outermost = frame.chain()
    return outermost.module


def left_to_callers(during: During) -> Iterator[cst.CSTNode]:
    """The functions that make such a strategy where the object that trains is not at hand, and their callers may be."""
    for placement in during:
        owner = placement.owner
        if not owner.kept and _taken_from(placement) is None and _has_callers(placement):
            yield owner.function


def clashing(during: During) -> dict[cst.Call, Refusal]:
    """The wraps in callbacks for another number of GPUs than what trains has."""
    refused: dict[cst.Call, Refusal] = {}
    for placement, (other, use) in during.items():
        numbers = {replicas(wrap) for wrap in other.owner.wraps}
        for wrap in placement.owner.wraps:
            count = replicas(wrap)
            if count is not None and None not in numbers and numbers != {count}:
                message = (
                    f"a callback wraps this model for {count} GPUs while fit() at "
                    f"{use.place(wrap.site.frame.module)} trains with a different number: one strategy would have to "
                    "serve both, but it has a fixed number of GPUs"
                )
                refused[wrap.call] = Refusal(codes.TWO_STRATEGIES, message)
    return refused


def shared(placements: Iterable[Placement], during: During) -> list[Placement]:
    """The placements, those in callbacks with the strategy of the model that fit() trains meanwhile."""
    return [
        replace(placement, strategy=replace(placement.strategy, taken_from=source))
        if placement in during and (source := _taken_from(placement)) is not None
        else placement
        for placement in placements
    ]


def say_used_in_callbacks(during: During, drafts: Mapping[Module, Draft]) -> None:
    """Report the strategies that remain two where there must be one."""
    for placement, (_, use) in during.items():
        if not placement.strategy.taken_from:
            wrap = placement.owner.wraps[0]
            module = wrap.site.frame.module
            message = (
                f"a second strategy that a callback uses while fit() at {use.place(module)} trains under another "
                "one: Keras 2 raises `Mixing different tf.distribute.Strategy objects`; create one strategy and use "
                "its scope for both models"
            )
            drafts[module].say(codes.SECOND_STRATEGY, wrap.call, message, "warn")


def _callbacks_round(group: Group, facts: ProgramFacts) -> Iterator[ClassValue]:
    """The classes of callbacks whose methods wrap a model of a group, or do something with one."""
    uses = (use for use in facts.uses if concerns(use, group.models, group.wraps))
    for frame in (*(wrap.site.frame for wrap in group.wraps), *(use.site.frame for use in uses)):
        cls = _callback_of(frame)
        if cls is not None:
            yield cls


def _callback_of(frame: Frame) -> ClassValue | None:
    """The class of the callback under a method of which an activation runs, as fit() calls it."""
    *_, outermost = frame.chain()
    name = outermost.function.name.value if isinstance(outermost.function, cst.FunctionDef) else ""
    called = outermost.owner if name != "__init__" else None
    return called if called is not None and called.is_callback() else None


def _given_callbacks(use: Use) -> set[cst.ClassDef]:
    """The classes of the objects that a call is given, with those that they descend from."""
    return {base.node for _, value in use.arguments for cls in classes_of(value) for base in cls.ancestors()}


def _taken_from(placement: Placement) -> str | None:
    """The strategy that trains, as it is reached where another one would be made: in a method that only fit() calls."""
    owner = placement.owner
    receiver = receiver_of(owner.function)
    if owner.kept or receiver is None or not all(_has_model(group.owner) for group in owner.groups):
        return None
    return f"{receiver}.model.distribute_strategy"


def _has_model(frame: Frame) -> bool:
    """Whether an activation is of a plain method of a callback, and runs when fit() has set its `model`."""
    *_, outermost = frame.chain()
    function, called = frame.function, outermost.function
    plain = isinstance(function, cst.FunctionDef) and not function.decorators
    during = isinstance(called, cst.FunctionDef) and called.name.value.startswith("on_")
    own = frame.owner is not None and frame.owner.is_callback()
    return plain and during and own and _callback_of(frame) is not None


def _has_callers(placement: Placement) -> bool:
    return all(group.owner.call is not None for group in placement.owner.groups)
