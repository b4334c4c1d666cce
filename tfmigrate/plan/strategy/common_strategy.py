"""The one strategy that serves every wrap of an owner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.strategy.gpus import kinds_of_all
from tfmigrate.plan.strategy.making import Making, count_too_late, counts_by_attribute, is_never_reached
from tfmigrate.plan.strategy.model_group import Refusal
from tfmigrate.plan.strategy.owner import Owner
from tfmigrate.plan.strategy.strategy import Strategy
from tfmigrate.understand.blocks import Unit
from tfmigrate.understand.carrier import Carrier
from tfmigrate.understand.module import Module

_DIFFERENT = "one strategy would serve wraps with different `gpus`, but a strategy has a fixed number of GPUs"


def common_strategy(
    owner: Owner,
    before: Unit,
    drafts: Mapping[Module, Draft],
    going: Set[cst.CSTNode],
    raised: frozenset[cst.CSTNode] = frozenset(),
) -> Strategy | Refusal:
    """The one strategy that serves every wrap of an owner. `going`: statements of which only the content stays;
    `raised`: assignments that stand above it by then."""
    strategy = _joined(owner, before, drafts, Carrier(drafts, raised), going)
    if isinstance(strategy, Refusal) and strategy.code == codes.TWO_STRATEGIES:
        origins = _joined(owner, before, drafts, Carrier(drafts, raised, to_origins=True), going)
        return origins if isinstance(origins, Strategy) else _of_each_object(owner, before) or strategy
    return strategy


def _of_each_object(owner: Owner, before: Unit) -> Refusal | None:
    """The reason where objects of one class have different numbers of GPUs: each may make a strategy for itself."""
    members = [(wrap, group.owner) for group in owner.groups for wrap in group.wraps]
    wrap, frame = members[0]
    alike = len(members) > 1 and all(other.call is wrap.call for other, _ in members)
    return count_too_late(wrap, frame, before) if alike and counts_by_attribute(wrap) else None


def _joined(
    owner: Owner, before: Unit, drafts: Mapping[Module, Draft], carrier: Carrier, going: Set[cst.CSTNode]
) -> Strategy | Refusal:
    draft = drafts[owner.module]
    joined: Strategy | None = None
    members = [(wrap, group.owner) for group in owner.groups for wrap in group.wraps]
    idle: list[Strategy] = []
    unknown: list[tuple[Strategy, Refusal]] = []
    for wrap, frame in members:
        alike = [other for other, _ in members if other.call is wrap.call]
        kinds = kinds_of_all(alike, carrier.scopes)
        strategy = Making(wrap, frame, before, draft, carrier, kinds, going).strategy()
        if isinstance(strategy, Refusal):
            always = Making(replace(wrap, guards=()), frame, before, draft, carrier, kinds, going).strategy()
            if isinstance(always, Refusal) or strategy.code != codes.GPUS_TOO_LATE:
                return strategy
            unknown.append((always, strategy))
            continue
        if len(alike) > 1 and is_never_reached(wrap, carrier):
            idle.append(strategy)
            continue
        both = strategy if joined is None else joined.joined(strategy)
        if both is None:
            return Refusal(codes.TWO_STRATEGIES, _DIFFERENT)
        joined = both
    for always, refusal in unknown:
        # Where another wrap has the same strategy in any case, its conditions do not matter.
        if joined is None or joined.condition is not None or joined.devices != always.devices:
            return refusal
    return _with_idle(joined, idle)


def _with_idle(joined: Strategy | None, idle: Sequence[Strategy]) -> Strategy | Refusal:
    """A strategy that also does for those of wraps that are never reached."""
    for strategy in idle:
        both = strategy if joined is None else joined.joined(strategy)
        # Where the condition stands in the code that is written, it does not matter on which devices nothing runs.
        if both is None and not set(strategy.conditions) <= set(joined.conditions if joined is not None else ()):
            return Refusal(codes.TWO_STRATEGIES, _DIFFERENT)
        joined = both or joined
    assert joined is not None
    return joined
