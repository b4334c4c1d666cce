"""Assignments below the strategy that say how many GPUs it has, `gpus = len(ids)`: they move above it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

import libcst as cst

from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Move
from tfmigrate.plan.strategy.owner import Owner
from tfmigrate.understand.blocks import Unit
from tfmigrate.understand.carrier import Carrier
from tfmigrate.understand.expressions import names_in
from tfmigrate.understand.module import Module
from tfmigrate.understand.purity import is_pure
from tfmigrate.understand.reaching import reaching, sole_assignment
from tfmigrate.understand.values import Site
from tfmigrate.written import Written


def lines_to_raise(owner: Owner, before: Unit, needed: Set[cst.CSTNode], drafts: Mapping[Module, Draft]) -> Move | None:
    """The move of such assignments, in their order, to just before the unit `before`, where the strategy is made.

    Only what means the same there, is bound nowhere else, and stands in the same block. `needed`: units that stand in
    the strategy's scope.
    """
    draft, module = drafts[owner.module], owner.module
    scope = draft.scope_of(owner.groups[0].owner)
    units: set[Unit] = set()
    pending = [name for node in _read(owner) for name in names_in(node)]
    seen: set[str] = set()
    while pending:
        name = pending.pop()
        bindings = reaching(name, scope, draft.scopes) if name not in seen else []
        seen.add(name)
        if len(bindings) != 1 or bindings[0].scope is not scope:
            continue
        unit, assignment = bindings[0].unit, sole_assignment(bindings[0])
        if assignment is None or unit in needed or module.places[unit].block is not module.places[before].block:
            continue
        if module.order[unit] < module.order[before] or not is_pure(assignment.value):
            continue
        units.add(unit)
        pending.extend(names_in(assignment.value))
    while stuck := [unit for unit in units if not _may_go(unit, owner, before, Carrier(drafts, units - {unit}))]:
        units.difference_update(stuck)
    return Move(tuple(sorted(units, key=lambda unit: module.order[unit])), before) if units else None


def _read(owner: Owner) -> Iterator[cst.BaseExpression]:
    """What says how many GPUs there are, and on which conditions, in the function where the strategy is made."""
    frame = owner.groups[0].owner
    for wrap in owner.wraps:
        if wrap.gpus is not None and wrap.site.frame is frame:
            yield wrap.gpus
        for guard in wrap.guards:
            if guard.frame is frame and not isinstance(guard.node, cst.Try):
                yield guard.node.test


def _may_go(unit: Unit, owner: Owner, before: Unit, carrier: Carrier) -> bool:
    """Whether an assignment means the same just before `before`."""
    assert isinstance(unit, cst.SimpleStatementLine)
    (small,) = unit.body
    assert isinstance(small, cst.Assign)
    frame = owner.groups[0].owner
    return carrier.at(small.value, Site(frame, unit), frame, before) == Written.at(small.value)
