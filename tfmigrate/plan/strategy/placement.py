"""Where the strategy of an owner is made, and what stands in its scope."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Insert, Move, Scope
from tfmigrate.plan.strategy.before_all import devices_problem, place_of_strategy
from tfmigrate.plan.strategy.compiles import compiled_apart
from tfmigrate.plan.strategy.far_models import model_at
from tfmigrate.plan.strategy.gpu_lines import lines_to_raise
from tfmigrate.plan.strategy.kept import Kept, Method, kept, known_too_late, place_in_init
from tfmigrate.plan.strategy.late_devices import Raised, SessionLines, Sessions, raised_settings
from tfmigrate.plan.strategy.merge_names import Merge
from tfmigrate.plan.strategy.model_group import Refusal, sites_to_cover, written_again
from tfmigrate.plan.strategy.own_loops import trained_by_hand
from tfmigrate.plan.strategy.owner import Owner
from tfmigrate.plan.strategy.remains import Remains
from tfmigrate.plan.strategy.scope import Cover, Run, first_common_unit, loops_round
from tfmigrate.plan.strategy.sink import WayDown, is_before_choice_of_devices, ways_down
from tfmigrate.plan.strategy.strategy import (
    ALL_WORKERS,
    Strategy,
    count_too_late,
    counts_by_attribute,
    is_never_reached,
    strategy_for,
)
from tfmigrate.plan.strategy.superseded import in_a_scope_that_stays
from tfmigrate.understand.carrier import Carrier
from tfmigrate.understand.lifecycle import ProgramFacts, Use
from tfmigrate.understand.objects import receiver_of
from tfmigrate.understand.program import Module, Unit, dotted, only_statement
from tfmigrate.understand.reaching import parameters_of
from tfmigrate.understand.values import Site

_OF_GPUS = re.compile(
    r"gpu|cuda|device|cards?\b|parallel|distribut|multi|replica|strateg|并行|显卡|多卡", re.IGNORECASE
)
"""Words of a comment that is as true of the strategy as of the wrap."""


_DIFFERENT = "one strategy would serve wraps with different `gpus`, and a strategy has one number of GPUs"


@dataclass(frozen=True)
class Placement:
    """An owner whose strategy can be written."""

    owner: Owner
    strategy: Strategy
    before: Unit
    """What the strategy is made before."""
    runs: tuple[Run, ...]
    """What stands in its scope."""
    move: WayDown | None
    """Of what builds the model, to where the strategy can be made; `before` is the first of it."""
    far: tuple[tuple[Site, cst.BaseExpression], ...]
    """Places that stand under their model's own strategy instead, each with the expression that is the model there."""
    raised: Raised
    """What sets the devices up and goes up to stand before the strategy."""
    counted: Move | None = None
    """Of the lines that say how many GPUs there are, to above the strategy."""
    methods: tuple[tuple[str, tuple[Run, ...]], ...] = ()
    """What stands in its scope in other methods of the object that keeps it, each with its name there."""
    for_all: bool = False
    """Whether it is made at the top of the module, for other functions too."""

    @property
    def covered(self) -> frozenset[Unit]:
        """The units that stand in its scope."""
        runs = (*self.runs, *(run for _, own in self.methods for run in own))
        return frozenset(unit for run in runs for unit in run.units)

    def stands_round(self, sites: Iterable[Site]) -> bool:
        """Whether one of some places is in its scope, or runs under a call that is."""
        return any(
            not self.covered.isdisjoint((outer.unit, *outer.frame.module.ancestors(outer.unit)))
            for site in sites
            for outer in site.chain()
            if outer.unit in outer.frame.module.places  # a default value is evaluated outside of any
        )

    @property
    def over_workers(self) -> bool:
        return self.strategy is ALL_WORKERS


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
    placements: list[Placement] = []
    refused: dict[cst.Call, Refusal] = {}
    cluster: Module | None = None
    """The module that makes the strategy of several machines, which a program has one of."""
    going = frozenset(unit for left in remains.values() for unit in left.blocks.transparent)
    emptied = frozenset(unit for left in remains.values() for unit in left.blocks.gone)
    for owner in owners:
        if owner.kept:
            placed = _in_methods(owner, remains, drafts, sessions, facts)
            if isinstance(placed, Placement):
                placements.append(placed)
            else:
                refused.update((wrap.call, placed) for wrap in owner.wraps)
            continue
        near, far = _covered(owner)
        runs = _runs(owner, near, remains.get(owner.module))
        problem = compiled_apart(owner.groups, drafts) or trained_by_hand(owner, drafts)
        problem = problem or in_a_scope_that_stays(owner.groups, facts, {*going, *emptied})
        if problem is None and not runs:
            problem = Refusal(codes.MADE_ELSEWHERE, "no statement was found that builds the model")
        if problem is None:
            before = first_common_unit(owner.module, runs, owner.body)
            move: WayDown | None = None
            counted: Move | None = None
            raised: Raised | Refusal = Raised()
            if drafts[owner.module].settings.over_workers:
                cluster = cluster or owner.module
                before, strategy = _before_all_else(owner, before, drafts[owner.module], cluster)
            else:
                start = before
                before, strategy = _outside_loops(owner, start, drafts, going)
                passable = sessions.get(owner.module, SessionLines()).lines
                if _is_early(owner, start, strategy, drafts, sinking, passable):
                    down = _lowered(owner, start, near, drafts, passable, facts, going)
                    if down is not None:
                        move, strategy = down
                        before = move.move.units[0]  # type: ignore[assignment]
                        runs = _runs(owner, near, remains.get(owner.module), move.move)
                if isinstance(strategy, Strategy):
                    spot = before if move is None else move.move.before
                    raised = raised_settings(owner, spot, facts, sessions, drafts)  # type: ignore[arg-type]
                    if move is None and raised == Raised():
                        counted = lines_to_raise(owner, before, near, drafts)
                    if counted is not None:
                        strategy = _strategy(owner, before, drafts, going, frozenset(counted.units))
                        runs = _runs(owner, near, remains.get(owner.module), counted)
            if isinstance(strategy, Refusal):
                problem = strategy
            elif isinstance(raised, Refusal):
                problem = raised
            else:
                placements.append(Placement(owner, strategy, before, runs, move, far, raised, counted))
        if problem is not None:
            refused.update((wrap.call, problem) for wrap in owner.wraps)
    return placements, refused


def called_in_scopes(placements: Iterable[Placement]) -> Iterator[cst.CSTNode]:
    """The functions that make a strategy and are called where the scope of another one stands."""
    placements = tuple(placements)
    round_ = {group.owner: placed for placed in placements for group in placed.owner.groups}
    for placement in placements:
        for group in placement.owner.groups:
            for site in group.owner.call.chain() if group.owner.call is not None else ():
                outer = round_.get(site.frame)
                if outer is None or outer.owner.function is placement.owner.function:
                    continue
                if not outer.covered.isdisjoint((site.unit, *site.frame.module.ancestors(site.unit))):
                    yield placement.owner.function


def _in_methods(
    owner: Owner,
    remains: Mapping[Module, Remains],
    drafts: Mapping[Module, Draft],
    sessions: Sessions,
    facts: ProgramFacts,
) -> Placement | Refusal:
    """Of a strategy that an object keeps: made in its `__init__`, the owner, for all methods."""
    going = frozenset(unit for left in remains.values() for unit in left.blocks.transparent)
    emptied = frozenset(unit for left in remains.values() for unit in left.blocks.gone)
    problem = compiled_apart(owner.groups, drafts) or trained_by_hand(owner, drafts)
    problem = problem or in_a_scope_that_stays(owner.groups, facts, {*going, *emptied})
    methods: dict[Method, frozenset[Unit]] = {}
    far: dict[Site, cst.BaseExpression] = {}
    for group in owner.groups:
        covered = kept(group)
        problem = problem or (covered if isinstance(covered, Refusal) else None)
        if isinstance(covered, Kept):
            far.update(covered.far)
            for method, units in covered.methods.items():
                methods[method] = methods.get(method, frozenset()) | units
    if problem is not None:
        return problem
    trained = {site.unit for group in owner.groups for use in group.trainings for site in use.site.chain()}
    own: tuple[Run, ...] = ()
    others: list[tuple[str, tuple[Run, ...]]] = []
    for module, function in sorted(methods, key=lambda method: (method[0].path, method[0].order[method[1]])):
        units, left = methods[module, function], remains.get(module)
        gone, transparent = (left.blocks.gone, left.blocks.transparent) if left is not None else ((), ())
        runs = tuple(Cover(module, units, frozenset(trained - units), gone, transparent).runs(function.body))
        if function is owner.function:
            own = runs
        else:
            others.append((f"{receiver_of(function)}.{owner.name.partition('.')[2]}", runs))
    before, strategy = place_in_init(owner.groups, lambda unit: _strategy(owner, unit, drafts, going))
    if isinstance(strategy, Refusal):
        return known_too_late(owner.groups, strategy)
    raised = raised_settings(owner, before, facts, sessions, drafts)
    if isinstance(raised, Refusal):
        return raised
    return Placement(owner, strategy, before, own, None, tuple(far.items()), raised, methods=tuple(others))


def _covered(owner: Owner) -> tuple[frozenset[Unit], tuple[tuple[Site, cst.BaseExpression], ...]]:
    """The units to stand under the owner's strategy, and the places far from it that can stand under their model's."""
    near: set[Unit] = set()
    far: dict[Site, cst.BaseExpression] = {}
    for group in owner.groups:
        trained = {
            lifted.unit
            for use in group.trainings
            if (lifted := use.site.lifted(group.owner)) is not None and use.site.frame is not group.owner
        }
        apart = {
            site: (site, model)
            for use in group.compiles
            for site in (use.site, *use.parts)
            if site.frame is use.site.frame and (model := model_at(site, use, group.wraps)) is not None
        }
        for use in group.compiles:
            apart.update(_parts_made_by_calls(use))
        for site in sites_to_cover(group):
            lifted = site.lifted(group.owner)
            distant = lifted is None or (site.frame is not group.owner and lifted.unit in trained)
            if distant and site in apart:
                place, model = apart[site]
                far[place] = model
            elif lifted is not None:
                near.add(lifted.unit)
    apart_from_near = tuple((site, model) for site, model in far.items() if site.unit not in near)
    return _in_their_arm(owner, frozenset(near)), apart_from_near


def _parts_made_by_calls(use: Use) -> Iterator[tuple[Site, tuple[Site, cst.BaseExpression]]]:
    """Optimizers and metrics of a far compile() that a function makes: the call of it where the compile() stands, and
    the model there, which must be known by then: it is handed over."""
    func, function = use.call.func, use.site.frame.function
    if not isinstance(func, cst.Attribute) or not isinstance(func.value, cst.Name) or function is None:
        return
    if func.value.value not in parameters_of(function):
        return
    for site in use.parts:
        inner = site.lifted(use.site.frame)
        if inner is not None and site.frame is not use.site.frame:
            yield site, (inner, func.value)


def _in_their_arm(owner: Owner, near: frozenset[Unit]) -> frozenset[Unit]:
    """Those of some units that need a scope. What another arm of an `if` than that of all wraps builds needs none where
    the strategy can be made in that arm: nothing outside the `if` stands in its scope. What one turn of a loop builds
    may be wrapped in the next."""
    arms = [
        {(guard.node, guard.arm) for guard in wrap.guards if guard.frame is group.owner}
        for group in owner.groups
        for wrap in group.wraps
    ]
    for node, arm in frozenset.intersection(*map(frozenset, arms)):
        if isinstance(node, cst.If) and node in owner.module.places:
            own = [node.body] if arm == "body" else list(_alternatives(node))
            ours = frozenset(unit for unit in near if _is_in(owner.module, unit, own))
            inside = all(node in owner.module.ancestors(unit) for unit in near)
            if ours and inside and not any(loops_round(owner.module, node, owner.body)):
                near = ours
    return near


def _alternatives(node: cst.If) -> Iterator[cst.BaseSuite]:
    """The blocks that run where the first one does not."""
    while node.orelse is not None:
        yield node.orelse.body
        if isinstance(node.orelse, cst.Else):
            return
        node = node.orelse


def _is_in(module: Module, unit: Unit, suites: Container[cst.CSTNode]) -> bool:
    return any(module.places[outer].block in suites for outer in (unit, *module.ancestors(unit)))


def _runs(owner: Owner, near: frozenset[Unit], left: Remains | None, move: Move | None = None) -> tuple[Run, ...]:
    """The `with` blocks of an owner."""
    gone, transparent = (left.blocks.gone, left.blocks.transparent) if left is not None else ((), ())
    if left is not None and left.superfluous:
        near = frozenset(unit for unit in near if only_statement(unit) not in left.superfluous)
    return tuple(Cover(owner.module, near, _training(owner) - near, gone, transparent, move).runs(owner.body))


def _training(owner: Owner) -> frozenset[Unit]:
    """The units of an owner under which its models are trained."""
    return frozenset(
        lifted.unit
        for group in owner.groups
        for use in group.trainings
        if (lifted := use.site.lifted(group.owner)) is not None
    )


def _outside_loops(
    owner: Owner, before: Unit, drafts: Mapping[Module, Draft], going: Set[cst.CSTNode]
) -> tuple[Unit, Strategy | Refusal]:
    """The unit before which the strategy is made: once, outside the loops, where `gpus` is known there already."""
    strategy = _strategy(owner, before, drafts, going)
    for loop in loops_round(owner.module, before, owner.body):
        outside = _strategy(owner, loop, drafts, going)
        if isinstance(strategy, Strategy) and isinstance(outside, Refusal):
            break
        before, strategy = loop, outside
    return before, strategy


def _is_early(
    owner: Owner,
    start: Unit,
    strategy: Strategy | Refusal,
    drafts: Mapping[Module, Draft],
    sinking: Container[cst.Call],
    passable: Container[cst.CSTNode],
) -> bool:
    """Whether a strategy made before `start` would come before what it needs: its number of GPUs, or their choice."""
    if isinstance(strategy, Refusal):
        return strategy.code == codes.GPUS_TOO_LATE and any(wrap.call in sinking for wrap in owner.wraps)
    return is_before_choice_of_devices(owner, start, passable, drafts[owner.module])


def _lowered(
    owner: Owner,
    start: Unit,
    near: frozenset[Unit],
    drafts: Mapping[Module, Draft],
    passable: Container[cst.CSTNode],
    facts: ProgramFacts,
    going: Set[cst.CSTNode],
) -> tuple[WayDown, Strategy] | None:
    """The shortest way down for what an owner builds to where its strategy can be made, and that strategy."""
    draft = drafts[owner.module]
    for way in ways_down(owner, start, near, _training(owner), passable, drafts, facts.exported):
        strategy = _strategy(owner, way.move.before, drafts, going)  # type: ignore[arg-type]
        if isinstance(strategy, Strategy) and way.binds.isdisjoint(strategy.names):
            draft.leave(codes.GPUS_TOO_LATE, way.move.units[0])
            return (way, strategy) if draft.allows(codes.GPUS_TOO_LATE, way.move.units[0]) else None
    return None


def _before_all_else(owner: Owner, before: Unit, draft: Draft, cluster: Module) -> tuple[Unit, Strategy | Refusal]:
    """The unit before which the strategy of several machines is made: before all else, once in a program."""
    place = place_of_strategy(draft, before)
    if cluster is not owner.module:
        message = "several machines share one strategy, and another file of this program makes it already"
        return place, Refusal(codes.TWO_STRATEGIES, message)
    return place, devices_problem(draft, place) or ALL_WORKERS


def _strategy(
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
    for wrap, frame in members:
        alike = [other for other, _ in members if other.call is wrap.call]
        strategy = strategy_for(carrier, wrap, frame, before, draft.tf, draft.quote, alike, going)
        if isinstance(strategy, Refusal):
            return strategy
        if len(alike) > 1 and is_never_reached(wrap, carrier):
            idle.append(strategy)
            continue
        both = strategy if joined is None else joined.joined(strategy)
        if both is None:
            return Refusal(codes.TWO_STRATEGIES, _DIFFERENT)
        joined = both
    for strategy in idle:
        both = strategy if joined is None else joined.joined(strategy)
        # Where the condition stands in the code that is written, it does not matter on which devices nothing runs.
        if both is None and not set(strategy.conditions) <= set(joined.conditions if joined is not None else ()):
            return Refusal(codes.TWO_STRATEGIES, _DIFFERENT)
        joined = both or joined
    assert joined is not None
    return joined


def make_strategy(placement: Placement, left: Remains | None, draft: Draft) -> None:
    """The edits that make the strategy and put its scope round what needs it. `draft`: of the owner's module."""
    owner, strategy = placement.owner, placement.strategy
    code = strategy.statement(owner.name, draft.tf, owner.module.indent_at(placement.before))
    if placement.over_workers:
        # One for all functions of the module, before the first of them.
        others = [edit for edit in draft.edits if isinstance(edit, Insert) and edit.code == code]
        draft.edits[:] = [edit for edit in draft.edits if edit not in others]
        insertion = min((Insert(placement.before, code), *others), key=lambda edit: owner.module.order[edit.before])
    else:
        insertion = Insert(placement.before, code, _moved_comments(owner, left))
    if not placement.for_all or not any(_inserts_same(edit, insertion) for edit in draft.edits):
        draft.edits.append(insertion)
    if placement.counted is not None:
        draft.edits.append(placement.counted)
    if placement.move is not None:
        draft.edits.append(placement.move.move)
        last = owner.module.place(placement.move.last, owner.module)
        message = f"the model is built below {last} now, where it is known how many GPUs there are"
        draft.say(codes.GPUS_TOO_LATE, placement.move.move.units[0], message, "rewrite")
    draft.edits.extend(Scope(run.units, f"{owner.name}.scope()") for run in placement.runs)


def _inserts_same(edit: object, insertion: Insert) -> bool:
    return isinstance(edit, Insert) and edit.before is insertion.before and edit.text == insertion.text


def scope_methods(placements: Iterable[Placement], drafts: Mapping[Module, Draft]) -> None:
    """The edits that open the scopes of strategies that objects keep, in their methods."""
    for placement in placements:
        for name, runs in placement.methods:
            for run in runs:
                module = next(module for module in drafts if run.units[0] in module.places)
                drafts[module].edits.append(Scope(run.units, f"{name}.scope()"))


def _moved_comments(owner: Owner, left: Remains | None) -> tuple[Unit, ...]:
    """The statements that go, whose comments on GPUs move to the strategy. Other comments stay above what follows."""
    gone = left.blocks.gone if left is not None else set()
    units: dict[Unit, None] = {}
    for wrap in owner.wraps:
        if wrap.site.frame.function is owner.groups[0].owner.function and wrap.site.unit in gone:
            *_, outermost = (
                around for around in (wrap.site.unit, *owner.module.ancestors(wrap.site.unit)) if around in gone
            )
            lines: Sequence[cst.EmptyLine] = getattr(outermost, "leading_lines", ())
            if any(line.comment is not None and _OF_GPUS.search(line.comment.value) for line in lines):
                units[outermost] = None  # type: ignore[index]
    return tuple(units)


def scope_far_places(
    placements: Iterable[Placement], remains: Mapping[Module, Remains], drafts: Mapping[Module, Draft]
) -> None:
    """The edits that put `with model.distribute_strategy.scope():` round what no strategy variable reaches."""
    near = {unit for placement in placements for unit in placement.covered}
    far = {site.unit: (site, model) for placement in placements for site, model in placement.far}
    apart: dict[tuple[Module, cst.CSTNode, str], list[Unit]] = {}
    for unit, (site, model) in far.items():
        if unit not in near:
            module = site.frame.module
            merged = remains[module].merge if module in remains else Merge()
            context = f"{_named(model, merged)}.distribute_strategy.scope()"
            apart.setdefault((module, module.places[unit].block, context), []).append(unit)
    for (module, _, context), units in apart.items():
        drafts[module].edits.extend(Scope(neighbours, context) for neighbours in _neighbours(module, units))


def _named(model: cst.BaseExpression, merged: Merge) -> str:
    """A model by the name that remains of it, or as an item of what has that name."""
    if not isinstance(model, cst.Subscript):
        return merged.named(model)
    return merged.named(model.value) + written_again(model)[len(dotted(model.value)) :]


def _neighbours(module: Module, units: Iterable[Unit]) -> Iterator[tuple[Unit, ...]]:
    """The units of one block, in order, those that follow each other without another between them together."""
    run: list[Unit] = []
    for unit in sorted(units, key=lambda one: module.order[one]):
        if run and module.places[unit].index != module.places[run[-1]].index + 1:
            yield tuple(run)
            run = []
        run.append(unit)
    if run:
        yield tuple(run)
