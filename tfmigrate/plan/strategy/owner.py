"""Where strategies belong: the functions that see both how a model is built and where it is wrapped."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, takewhile

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.strategy.kept import attribute_for_strategy, keeper_of
from tfmigrate.plan.strategy.makers import builds_beside, maker_of, maker_of_copy
from tfmigrate.plan.strategy.model_group import (
    Group,
    Refusal,
    group_of,
    group_of_copies,
    group_of_object,
    made_apart,
    sites_to_cover,
)
from tfmigrate.plan.strategy.superseded import superseded
from tfmigrate.understand.blocks import block_of
from tfmigrate.understand.lifecycle import ProgramFacts, Wrap
from tfmigrate.understand.module import Module
from tfmigrate.understand.objects import receiver_of
from tfmigrate.understand.values import Frame


@dataclass(frozen=True)
class Owner:
    """All groups of one function (or one module's top level), which share one strategy variable."""

    module: Module
    function: cst.Module | cst.FunctionDef
    groups: tuple[Group, ...]
    name: str
    """The strategy's."""
    kept: bool = False
    """Whether the function is the `__init__` of an object that keeps the strategy, and its name one of its attributes.
    """

    @property
    def wraps(self) -> tuple[Wrap, ...]:
        return tuple(wrap for group in self.groups for wrap in group.wraps)

    @property
    def body(self) -> cst.Module | cst.BaseSuite:
        return block_of(self.function)


@dataclass
class Tried:
    """Where strategies are tried to be made that cannot be made where they first would be."""

    callers: dict[Wrap, Frame] = field(default_factory=dict)
    """Owners further out, of wraps whose number of GPUs comes too late."""
    inside: set[cst.CSTNode] = field(default_factory=set)
    """Functions that the scope of another strategy turned out to stand round, so that their callers make it."""
    sinking: set[cst.Call] = field(default_factory=set)
    """Calls whose models may be built further down."""
    keeping: set[cst.Call] = field(default_factory=set)
    """Calls whose objects keep the strategy where they can, because it cannot be made anywhere else."""
    copying: set[cst.Call] = field(default_factory=set)
    """Calls whose models are copied where they are wrapped."""


def owners_of(
    wraps: Iterable[Wrap], tried: Tried, facts: ProgramFacts, drafts: Mapping[Module, Draft]
) -> tuple[list[Owner], dict[cst.Call, Refusal]]:
    """The owners of wraps, and the calls that have none; a call without one in some activation has none at all."""
    frames, beginnings = _owning(wraps, tried, facts, drafts)
    ownerless = {wrap.call: _made_elsewhere(wrap, facts) for wrap, frame in frames.items() if frame is None}
    by_frame: dict[Frame, list[Wrap]] = {}
    for wrap, frame in frames.items():
        if frame is not None:
            by_frame.setdefault(frame, []).append(wrap)
    ownerless.update(_leave_scopes_of_callers(by_frame, facts, tried.inside))
    by_function: dict[cst.Module | cst.FunctionDef, list[Group]] = {}
    for frame, members in by_frame.items():
        owned = [wrap for wrap in members if wrap.call not in ownerless]
        function = frame.function or frame.module.tree
        if owned and isinstance(function, cst.Module | cst.FunctionDef):
            others = tuple(wrap for wrap in owned if wrap.call not in tried.copying)
            copied = tuple(wrap for wrap in owned if wrap.call in tried.copying)
            grouped = group_of_object if function in beginnings else group_of
            groups = by_function.setdefault(function, [])
            groups.extend([grouped(frame, others, facts)] if others else [])
            groups.extend([group_of_copies(frame, copied, facts)] if copied else [])
    owners = [
        _owner(function, tuple(groups), function in beginnings, facts, drafts)
        for function, groups in by_function.items()
    ]
    return owners, ownerless


def _owning(
    wraps: Iterable[Wrap], tried: Tried, facts: ProgramFacts, drafts: Mapping[Module, Draft]
) -> tuple[dict[Wrap, Frame | None], set[cst.CSTNode | None]]:
    """The activation that owns each wrap, and each `__init__` among them whose object keeps the strategy."""
    frames = {wrap: tried.callers.get(wrap) or _innermost(wrap, tried, facts, drafts) for wrap in wraps}
    split = {wrap.call for wrap, frame in frames.items() if _is_split(wrap, frame, tried, facts)}
    beginnings: set[cst.CSTNode | None] = set()
    for wrap in frames:
        keeper = keeper_of(wrap, facts, drafts) if wrap.call in split else None
        if keeper is not None:
            frames[wrap] = keeper
            beginnings.add(keeper.function)
    return frames, beginnings


def _innermost(wrap: Wrap, tried: Tried, facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> Frame | None:
    """The innermost activation that may own a wrap."""
    return (maker_of_copy if wrap.call in tried.copying else maker_of)(wrap, facts, drafts)


def _is_split(wrap: Wrap, frame: Frame | None, tried: Tried, facts: ProgramFacts) -> bool:
    """Whether the methods of an object may share the making of a wrap's model, which keeps the strategy then."""
    if wrap.call in tried.copying:
        return False
    return frame is None or wrap.call in tried.keeping or builds_beside(frame, wrap, facts)


def _made_elsewhere(wrap: Wrap, facts: ProgramFacts) -> Refusal:
    """Why a wrap has no owner."""
    places = made_apart(sites_to_cover(group_of(wrap.site.frame, (wrap,), facts)))
    message = "its optimizer or a part of its model is created elsewhere, and no caller of both was found"
    return Refusal(codes.MADE_ELSEWHERE, message if places is None else f"{message}: {places}")


def _owner(
    function: cst.Module | cst.FunctionDef,
    groups: tuple[Group, ...],
    kept: bool,
    facts: ProgramFacts,
    drafts: Mapping[Module, Draft],
) -> Owner:
    frame = groups[0].owner
    if kept:
        name = f"{receiver_of(function)}.{attribute_for_strategy(frame, drafts)}"
    else:
        name = _strategy_name(drafts[frame.module], function, facts)
    return Owner(frame.module, function, groups, name, kept)


def _leave_scopes_of_callers(
    by_frame: dict[Frame, list[Wrap]], facts: ProgramFacts, inside: Container[cst.CSTNode]
) -> dict[cst.Call, Refusal]:
    """A function called in the scope of another strategy makes none itself, which would be two: its callers do, all.

    A method that a derived class inherits is walked on an object of that class too, which nothing makes: the callers
    of the method speak for it. Returns the calls that have no such caller.
    """
    called = {wrap.call for frame, wraps in by_frame.items() if frame.call is not None for wrap in wraps}
    ownerless: dict[cst.Call, Refusal] = {}
    while True:
        known = (frame.function for frame in by_frame if frame.function is not None and frame.function in inside)
        function = next(chain(known, _called_in_scopes(by_frame, facts)), None)
        if function is None:
            return ownerless
        for frame in [frame for frame in by_frame if frame.function is function]:
            wraps = by_frame.pop(frame)
            if frame.call is not None:
                by_frame.setdefault(frame.call.frame, []).extend(wraps)
                continue
            message = (
                "a function that is called in the scope of another strategy creates its own: move that to the callers"
            )
            why = Refusal(codes.TWO_STRATEGIES, message)
            ownerless.update((wrap.call, why) for wrap in wraps if wrap.call not in called)


def _called_in_scopes(by_frame: Mapping[Frame, list[Wrap]], facts: ProgramFacts) -> Iterator[cst.CSTNode]:
    """The functions owned among `by_frame` that another owner calls where its own strategy's scope stands."""
    functions = {frame.function for frame in by_frame} - {None}
    if len(by_frame) < 2 or not functions:
        return
    for owner, wraps in by_frame.items():
        for wrap in wraps:
            inside = takewhile(lambda frame, owner=owner: frame is not owner, wrap.site.frame.chain())  # type: ignore[misc]
            for frame in inside:
                if frame.function in functions and frame.function is not owner.function:
                    yield frame.function  # type: ignore[misc]
    for owner in by_frame:
        for site in owner.call.chain() if owner.call is not None else ():
            if site.frame in by_frame and owner.function in functions and owner.function is not site.frame.function:
                group = group_of(site.frame, tuple(by_frame[site.frame]), facts)
                covered = (covered_site.lifted(site.frame) for covered_site in sites_to_cover(group))
                if any(lifted is not None and lifted.unit is site.unit for lifted in covered):
                    yield owner.function  # type: ignore[misc]


def _strategy_name(draft: Draft, function: cst.Module | cst.FunctionDef, facts: ProgramFacts) -> str:
    wraps = [wrap for wrap in facts.wraps if wrap.site.frame.module is draft.module]
    if "strategy" in superseded(draft.facts, draft.scopes, wraps, facts).names(function):
        return "strategy"
    seen_from = draft.module.tree if draft.settings.over_workers else function
    return draft.scopes.fresh("strategy", draft.scopes.by_node[seen_from])
