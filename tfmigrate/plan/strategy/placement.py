"""A strategy that can be written: the edits that make it, and put its scope round what needs it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Insert, Move, Scope
from tfmigrate.plan.strategy.late_devices import Raised
from tfmigrate.plan.strategy.merged import Merge
from tfmigrate.plan.strategy.model_group import written_again
from tfmigrate.plan.strategy.owner import Owner
from tfmigrate.plan.strategy.remains import Remains
from tfmigrate.plan.strategy.scope import Run
from tfmigrate.plan.strategy.sink import WayDown
from tfmigrate.plan.strategy.strategy import ALL_WORKERS, Strategy
from tfmigrate.understand.blocks import Unit
from tfmigrate.understand.module import Module
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import Site

_OF_GPUS = re.compile(
    r"gpu|cuda|device|cards?\b|parallel|distribut|multi|replica|strateg|并行|显卡|多卡", re.IGNORECASE
)
"""Words of a comment that is as true of the strategy as of the wrap."""


@dataclass(frozen=True)
class Placement:
    """An owner whose strategy can be written."""

    owner: Owner
    strategy: Strategy
    before: Unit
    """What the strategy is made before."""
    runs: tuple[Run, ...]
    """What stands in its scope."""
    far: tuple[tuple[Site, cst.BaseExpression], ...]
    """Places that stand under their model's own strategy instead, each with the expression that is the model there."""
    raised: Raised = field(default_factory=Raised)
    """What sets the devices up and goes up to stand before the strategy."""
    move: WayDown | None = None
    """Of what builds the model, to where the strategy can be made; `before` is the first of it."""
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
        message = f"the model is now built below {last}, where the number of GPUs is known"
        draft.say(codes.GPUS_TOO_LATE, placement.move.first, message, "rewrite")
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
