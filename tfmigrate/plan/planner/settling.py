"""Where the strategy of each wrap can be made: one place after the other is tried."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from typing import TypeVar

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.keras.sessions import session_lines
from tfmigrate.plan.strategy.copied import can_be_copied
from tfmigrate.plan.strategy.in_callbacks import clashing, during_trainings, left_to_callers, shared
from tfmigrate.plan.strategy.model_group import Refusal
from tfmigrate.plan.strategy.one_for_all import made_once
from tfmigrate.plan.strategy.owner import Owner, Tried, owners_of
from tfmigrate.plan.strategy.placement import Placement, called_in_scopes
from tfmigrate.plan.strategy.placing import placements_of
from tfmigrate.plan.strategy.remains import Remains, remains_of
from tfmigrate.understand.blocks import only_statement
from tfmigrate.understand.lifecycle import ProgramFacts, Wrap
from tfmigrate.understand.module import Module
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import ClassValue, Frame

_Shared = TypeVar("_Shared")


def settled(
    followed: Iterable[Wrap], refused: dict[cst.Call, Refusal], facts: ProgramFacts, drafts: Mapping[Module, Draft]
) -> tuple[list[Placement], dict[Module, Remains]]:
    """The strategies that can be written, and what remains of the modules then. The other wraps join the refused."""
    return _Search(followed, refused, facts, drafts).result()


class _Search:
    """For a place where the strategy of each wrap can be made.

    A call refused in one owner is refused in all, which changes what remains, so this repeats. One whose number of GPUs
    comes too late is tried at its callers first, then where it was, with its model built further down, then in the
    object whose method wraps, and at last with a copy of the model. A function that the scope of another strategy
    stands round leaves making one to its callers.
    """

    def __init__(
        self,
        followed: Iterable[Wrap],
        refused: dict[cst.Call, Refusal],
        facts: ProgramFacts,
        drafts: Mapping[Module, Draft],
    ) -> None:
        self._followed = list(followed)
        self._refused = refused
        self._facts = facts
        self._drafts = drafts
        self._sessions = {module: session_lines(draft, drafts) for module, draft in drafts.items()}
        self._tried = Tried()
        self._late: dict[cst.Call, Refusal] = {}
        """Why the strategy of a call could not be made where that was tried first."""

    def result(self) -> tuple[list[Placement], dict[Module, Remains]]:
        facts, drafts = self._facts, self._drafts
        while True:
            self._copy_models_instead()
            self._refused.update(_kept_by_their_class(facts, self._refused))
            self._refused.update(_kept_by_their_object(facts, self._refused))
            left = (wrap for wrap in self._followed if wrap.call not in self._refused)
            owners, ownerless = owners_of(left, self._tried, facts, drafts)
            self._refused.update((call, self._reason(call, why)) for call, why in ownerless.items())
            remains = remains_of(owners, self._refused, facts, drafts)
            placements, unplaced = placements_of(owners, remains, drafts, self._tried.sinking, self._sessions, facts)
            self._try_elsewhere(owners, unplaced)
            during = during_trainings(placements, facts)
            clashes = clashing(during)
            self._refused.update(clashes)
            nested = {*called_in_scopes(placements), *left_to_callers(during)} - self._tried.inside
            self._tried.inside |= nested
            if not (ownerless or unplaced or nested or clashes):
                return made_once(shared(placements, during), facts, drafts), remains

    def _copy_models_instead(self) -> None:
        """Follow refused calls again, which can stay if their models are copied."""
        for wrap in _copied_instead(self._refused, self._tried.copying, self._facts, self._drafts):
            if wrap.call in self._refused:
                self._late[wrap.call] = self._refused.pop(wrap.call)
                self._tried.copying.add(wrap.call)
            self._tried.callers.pop(wrap, None)
            if wrap not in self._followed:
                self._followed.append(wrap)

    def _reason(self, call: cst.Call, why: Refusal) -> Refusal:
        """Why a call is refused: for what kept it from being migrated before a copy was tried."""
        return self._late[call] if call in self._tried.copying else why

    def _try_elsewhere(self, owners: Iterable[Owner], unplaced: Mapping[cst.Call, Refusal]) -> None:
        """Note where to try next for calls whose strategy cannot be written; refuse those tried everywhere."""
        for call, refusal in unplaced.items():
            self._late.setdefault(call, refusal)
        tried = self._tried
        raised = _to_callers(owners, unplaced)
        stuck = unplaced.keys() - {wrap.call for wrap in raised}
        sinking = {call for call in stuck - tried.sinking if self._comes_too_late(call)}
        stuck -= sinking
        keeping = {call for call in stuck - tried.keeping if self._comes_too_late(call)}
        stuck -= keeping
        tried.callers.update(raised)
        tried.callers = {wrap: frame for wrap, frame in tried.callers.items() if wrap.call not in sinking}
        tried.sinking |= sinking
        tried.keeping |= keeping
        self._refused.update((call, self._late[call]) for call in unplaced if call in stuck)

    def _comes_too_late(self, call: cst.Call) -> bool:
        return self._late[call].code == codes.GPUS_TOO_LATE


def _kept_by_their_class(facts: ProgramFacts, refused: Mapping[cst.Call, Refusal]) -> dict[cst.Call, Refusal]:
    """The calls of a class that wraps the wrap, where another call of it is refused: all of them go, or none."""

    def why(cls: ClassValue, other: Wrap, _: Wrap) -> str:
        place = other.site.frame.module.place(other.call)
        return f"the class {cls.node.name.value} wraps the model, and stays because its use at {place} is not migrated"

    return _staying_with_another(facts, refused, lambda wrap: wrap.wrapper_class, why)


def _kept_by_their_object(facts: ProgramFacts, refused: Mapping[cst.Call, Refusal]) -> dict[cst.Call, Refusal]:
    """The calls whose parallel model is kept on an object, where another call that sets the same attribute is refused:
    what reads it cannot be written for both."""

    def why(kept_at: tuple[cst.CSTNode, str], other: Wrap, wrap: Wrap) -> str:
        place = other.site.frame.module.place(other.call, wrap.site.frame.module)
        return f"`{kept_at[1]}` is also set at {place}, which is not migrated"

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
