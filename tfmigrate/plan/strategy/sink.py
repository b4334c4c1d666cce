"""Lets what builds a model go down, past lines that compute `gpus`, to where its strategy can be made."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Move
from tfmigrate.plan.strategy.owner import Owner
from tfmigrate.plan.strategy.passing import Passing, is_device_choice
from tfmigrate.plan.strategy.scope import loops_round
from tfmigrate.understand.blocks import Unit, units_of
from tfmigrate.understand.module import Module
from tfmigrate.walk import walk


@dataclass(frozen=True)
class WayDown:
    """A move that changes nothing but when the model is built."""

    move: Move
    last: Unit
    """The last line that is passed."""
    binds: frozenset[str]
    """The names that are known only after the move's units."""

    @property
    def first(self) -> Unit:
        """The first unit that goes down."""
        return self.move.units[0]  # type: ignore[return-value]

    @property
    def target(self) -> Unit:
        """What they go down to, and the strategy is made before."""
        return self.move.before  # type: ignore[return-value]


def is_before_choice_of_devices(owner: Owner, start: Unit, passable: Container[cst.CSTNode], draft: Draft) -> bool:
    """Whether GPUs are chosen after `start` and before the wrap, so that a strategy made there would ignore it.

    `passable`: see ways_down(); their settings can stand further up.
    """
    units = units_of(owner.module.places[start].block)
    end = _first_wrap(owner, units)
    between = units[owner.module.places[start].index : end] if end is not None else ()
    return any(unit not in passable and _chooses_devices(unit, draft) for unit in between)


def _chooses_devices(unit: Unit, draft: Draft) -> bool:
    """Whether a unit says which GPUs there are, which must come before a strategy."""
    for part in walk(unit):
        if isinstance(part, cst.AssignTarget) and is_device_choice(part.target, draft):
            return True
        if isinstance(part, cst.Call):
            name = draft.facts.canonical(part.func)
            if name.endswith(".set_session") or (name.startswith("tensorflow.config.") and ".set_" in name):
                return True
    return False


def ways_down(
    owner: Owner,
    start: Unit,
    near: frozenset[Unit],
    training: frozenset[Unit],
    passable: Container[cst.CSTNode],
    drafts: Mapping[Module, Draft],
    exported: Container[tuple[Module, str]],
) -> Iterator[WayDown]:
    """The ways that what an owner builds can go down towards its wrap, the shortest first.

    `start`: the unit before which the strategy would be made; `near`: what stands in the scope; `passable`: lines of
    sessions that only carry settings, which become calls that set up devices; `exported`: the names that one module of
    the program reads of another.
    """
    module = owner.module
    draft = drafts[module]
    units = units_of(module.places[start].block)
    end = _first_wrap(owner, units)
    if end is None or next(loops_round(module, start, owner.body), None) is not None:
        return
    passing = Passing(owner, draft, tuple(drafts.values()), exported)
    going: list[Unit] = []
    passed: list[Unit] = []
    for number in range(module.places[start].index, end + 1):
        unit = units[number]
        if passed and not any(_chooses_devices(later, draft) for later in units[number : end + 1]):
            last = [passed[-1], *module.inside(passed[-1])][-1]
            yield WayDown(Move(tuple(going), unit), last, passing.bound(going))
        if number == end:
            return
        inside = {unit, *module.inside(unit)}
        if near.isdisjoint(inside) and (unit in passable or passing.may_pass(going, [*passed, unit])):
            passed.append(unit)
        elif training.isdisjoint(inside) and (near & inside or passing.is_about(going, unit)) and passing.may_go(unit):
            going.append(unit)
        else:
            return


def _first_wrap(owner: Owner, units: Sequence[Unit]) -> int | None:
    """The number of the first of some units that holds a wrap of the owner; None where one is in none of them."""
    numbers = []
    for group in owner.groups:
        for wrap in group.wraps:
            site = wrap.site.lifted(group.owner)
            holding = () if site is None else (site.unit, *owner.module.ancestors(site.unit))
            number = next((number for number, unit in enumerate(units) if unit in holding), None)
            if number is None:
                return None
            numbers.append(number)
    return min(numbers)
