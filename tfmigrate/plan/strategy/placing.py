"""Where the strategy of each owner is made."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Set
from dataclasses import replace

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Move
from tfmigrate.plan.strategy.before_all import devices_problem, place_of_strategy
from tfmigrate.plan.strategy.common_strategy import common_strategy
from tfmigrate.plan.strategy.compiles import compiled_apart
from tfmigrate.plan.strategy.covered import covered, training_in
from tfmigrate.plan.strategy.gpu_lines import lines_to_raise
from tfmigrate.plan.strategy.kept import kept_by_all, known_too_late, place_in_init
from tfmigrate.plan.strategy.late_devices import SessionLines, Sessions, raised_settings
from tfmigrate.plan.strategy.model_group import Refusal
from tfmigrate.plan.strategy.negations import negated
from tfmigrate.plan.strategy.own_loops import trained_by_hand
from tfmigrate.plan.strategy.owner import Owner
from tfmigrate.plan.strategy.placement import Placement
from tfmigrate.plan.strategy.remains import Remains
from tfmigrate.plan.strategy.scope import Cover, Run, first_common_unit, loops_round
from tfmigrate.plan.strategy.sink import WayDown, is_before_choice_of_devices, ways_down
from tfmigrate.plan.strategy.strategy import ALL_WORKERS, Strategy
from tfmigrate.plan.strategy.superseded import in_a_scope_that_stays
from tfmigrate.understand.blocks import Unit, only_statement
from tfmigrate.understand.lifecycle import ProgramFacts
from tfmigrate.understand.module import Module
from tfmigrate.understand.objects import receiver_of
from tfmigrate.written import Written


def placements_of(
    owners: Iterable[Owner],
    remains: Mapping[Module, Remains],
    drafts: Mapping[Module, Draft],
    sinking: Container[cst.Call],
    sessions: Sessions,
    facts: ProgramFacts,
) -> tuple[list[Placement], dict[cst.Call, Refusal]]:
    """The owners whose strategy can be written, and the calls in those where it cannot.

    `sinking`: those whose models may be built further down, because their number of GPUs comes too late otherwise.
    `sessions`: of each module.
    """
    placing = _Placing(remains, drafts, sinking, sessions, facts)
    placements: list[Placement] = []
    refused: dict[cst.Call, Refusal] = {}
    for owner in owners:
        placed = placing.place(owner)
        if isinstance(placed, Placement):
            placements.append(placed)
        else:
            refused.update((wrap.call, placed) for wrap in owner.wraps)
    return placements, refused


def _single_arms(owner: Owner, strategy: Strategy) -> Iterator[cst.BaseSuite]:
    """The arms of the guards of wraps in which the strategy is the default one."""
    guards = {guard.node for wrap in owner.wraps for guard in wrap.guards if guard.frame.module is owner.module}
    for guard in guards:
        if isinstance(guard, cst.If) and isinstance(guard.orelse, cst.Else):
            test = Written.at(guard.test)
            for arm, opposite in ((guard.body, negated(test)), (guard.orelse.body, test)):
                if all(opposite in way for way in strategy.conditions):
                    yield arm


class _Placing:
    """Finds the places for the strategies of a program."""

    def __init__(
        self,
        remains: Mapping[Module, Remains],
        drafts: Mapping[Module, Draft],
        sinking: Container[cst.Call],
        sessions: Sessions,
        facts: ProgramFacts,
    ) -> None:
        self._remains = remains
        self._drafts = drafts
        self._sinking = sinking
        self._sessions = sessions
        self._facts = facts
        self._going = frozenset(unit for left in remains.values() for unit in left.blocks.transparent)
        """Statements of which only the content stays."""
        self._emptied = frozenset(unit for left in remains.values() for unit in left.blocks.gone)
        self._cluster: Module | None = None
        """The module that makes the strategy of several machines, which a program has one of."""

    def place(self, owner: Owner) -> Placement | Refusal:
        problem = (
            compiled_apart(owner.groups, self._drafts)
            or trained_by_hand(owner, self._drafts)
            or in_a_scope_that_stays(owner.groups, self._facts, self._going | self._emptied)
        )
        if problem is not None:
            return problem
        return self._in_methods(owner) if owner.kept else self._in_function(owner)

    def _in_function(self, owner: Owner) -> Placement | Refusal:
        near, far = covered(owner)
        runs = self._runs(owner, near)
        if not runs:
            return Refusal(codes.MADE_ELSEWHERE, "no statement was found that builds the model")
        start = first_common_unit(owner.module, runs)
        if self._drafts[owner.module].settings.over_workers:
            place = place_of_strategy(self._drafts[owner.module], start)
            return self._problem_over_workers(owner, place) or Placement(owner, ALL_WORKERS, place, runs, far)
        before, strategy = self._outside_loops(owner, start)
        move = None
        if self._is_early(owner, start, strategy) and (lower := self._lowered(owner, start, near)) is not None:
            move, strategy = lower
            before = move.first
        if isinstance(strategy, Refusal):
            return strategy
        raised = raised_settings(owner, move.target if move else before, self._facts, self._sessions, self._drafts)
        if isinstance(raised, Refusal):
            return raised
        runs = self._runs(owner, near, move.move if move else None, _single_arms(owner, strategy))
        placement = Placement(owner, strategy, before, runs, far, raised, move)
        if move is not None or raised.edits:
            return placement
        return self._below_its_count(placement, near)

    def _below_its_count(self, placement: Placement, near: frozenset[Unit]) -> Placement | Refusal:
        """The same with the lines that say how many GPUs there are above the strategy, where they may go there."""
        owner, before = placement.owner, placement.before
        counted = lines_to_raise(owner, before, near, self._drafts)
        if counted is None:
            return placement
        strategy = self._strategy(owner, before, frozenset(counted.units))
        if isinstance(strategy, Refusal):
            return strategy
        runs = self._runs(owner, near, counted, _single_arms(owner, strategy))
        return replace(placement, strategy=strategy, runs=runs, counted=counted)

    def _in_methods(self, owner: Owner) -> Placement | Refusal:
        """Of a strategy that an object keeps: made in its `__init__`, the owner, for all methods."""
        scoped = kept_by_all(owner.groups)
        if isinstance(scoped, Refusal):
            return scoped
        before, strategy = place_in_init(owner.groups, lambda unit: self._strategy(owner, unit))
        if isinstance(strategy, Refusal):
            return known_too_late(owner.groups, strategy)
        raised = raised_settings(owner, before, self._facts, self._sessions, self._drafts)
        if isinstance(raised, Refusal):
            return raised
        trained = {site.unit for group in owner.groups for use in group.trainings for site in use.site.chain()}
        own: tuple[Run, ...] = ()
        others: list[tuple[str, tuple[Run, ...]]] = []
        for (module, function), units in scoped.in_order():
            runs = tuple(self._cover(module, units, trained).runs(function.body))
            if function is owner.function:
                own = runs
            else:
                others.append((f"{receiver_of(function)}.{owner.name.partition('.')[2]}", runs))
        return Placement(owner, strategy, before, own, tuple(scoped.far.items()), raised, methods=tuple(others))

    def _cover(
        self,
        module: Module,
        needed: frozenset[Unit],
        trained: Set[Unit],
        move: Move | None = None,
        without: Iterable[cst.BaseSuite] = (),
    ) -> Cover:
        left = self._remains.get(module)
        gone, transparent = (left.blocks.gone, left.blocks.transparent) if left is not None else ((), ())
        return Cover(module, needed, frozenset(trained - needed), gone, transparent, move, without)

    def _runs(
        self, owner: Owner, near: frozenset[Unit], move: Move | None = None, without: Iterable[cst.BaseSuite] = ()
    ) -> tuple[Run, ...]:
        """The `with` blocks of an owner; `without`: blocks that need none."""
        left = self._remains.get(owner.module)
        if left is not None and left.superfluous:
            near = frozenset(unit for unit in near if only_statement(unit) not in left.superfluous)
        return tuple(self._cover(owner.module, near, training_in(owner), move, without).runs(owner.body))

    def _strategy(self, owner: Owner, before: Unit, raised: frozenset[cst.CSTNode] = frozenset()) -> Strategy | Refusal:
        """`raised`: assignments that stand above it by then."""
        return common_strategy(owner, before, self._drafts, self._going, raised)

    def _outside_loops(self, owner: Owner, before: Unit) -> tuple[Unit, Strategy | Refusal]:
        """The unit before which the strategy is made: once, outside the loops, where `gpus` is known there already."""
        strategy = self._strategy(owner, before)
        for loop in loops_round(owner.module, before, owner.body):
            outside = self._strategy(owner, loop)
            if isinstance(strategy, Strategy) and isinstance(outside, Refusal):
                break
            before, strategy = loop, outside
        return before, strategy

    def _passable(self, owner: Owner) -> Container[cst.CSTNode]:
        return self._sessions.get(owner.module, SessionLines()).lines

    def _is_early(self, owner: Owner, start: Unit, strategy: Strategy | Refusal) -> bool:
        """Whether a strategy made before `start` would come before its number of GPUs, or their choice."""
        if isinstance(strategy, Refusal):
            return strategy.code == codes.GPUS_TOO_LATE and any(wrap.call in self._sinking for wrap in owner.wraps)
        return is_before_choice_of_devices(owner, start, self._passable(owner), self._drafts[owner.module])

    def _lowered(self, owner: Owner, start: Unit, near: frozenset[Unit]) -> tuple[WayDown, Strategy] | None:
        """The shortest way down for what an owner builds to where its strategy can be made, and that strategy."""
        draft, exported = self._drafts[owner.module], self._facts.exported
        ways = ways_down(owner, start, near, training_in(owner), self._passable(owner), self._drafts, exported)
        for way in ways:
            strategy = self._strategy(owner, way.target)
            if isinstance(strategy, Strategy) and way.binds.isdisjoint(strategy.names):
                draft.leave(codes.GPUS_TOO_LATE, way.first)
                return (way, strategy) if draft.allows(codes.GPUS_TOO_LATE, way.first) else None
        return None

    def _problem_over_workers(self, owner: Owner, place: Unit) -> Refusal | None:
        """What keeps the strategy of several machines from being made before all else, once in a program."""
        self._cluster = self._cluster or owner.module
        if self._cluster is not owner.module:
            message = "several machines share one strategy, and another file of this program already creates it"
            return Refusal(codes.TWO_STRATEGIES, message)
        return devices_problem(self._drafts[owner.module], place)
