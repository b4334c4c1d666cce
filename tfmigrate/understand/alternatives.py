"""Things of which one run makes one alone: in the arms of an `if`, or by a call of this function or that."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import libcst as cst

from tfmigrate.understand.blocks import Unit, units_of
from tfmigrate.understand.module import Module
from tfmigrate.understand.unreached import ENDING
from tfmigrate.understand.values import Frame, Site, Sites
from tfmigrate.walk import walk


@dataclass(frozen=True)
class Step:
    """Something on the way to a thing: where it stands, the expression that it is, and the function that it calls."""

    site: Site
    node: cst.CSTNode | None
    function: cst.CSTNode | None = None


def steps_to(site: Site, node: cst.CSTNode | None) -> Iterator[Step]:
    """The place of an expression, the call that it runs under, and so on outwards."""
    inner: Frame | None = None
    for here in site.chain():
        yield Step(here, node, inner.function if inner is not None else None)
        inner, node = here.frame, here.frame.call_node


def are_alternatives(one: Collection[Step], other: Collection[Step], shared: Sites) -> bool:
    """Whether no run makes both of two things of one part, which is made in the places `shared`.

    Where the choice is made again and again, in a loop or a function without a known caller, the part must be made
    anew each time.
    """
    return any(
        here.site.frame is there.site.frame
        and _exclude(here, there)
        and all(_is_made_after(made, here.site) for made in shared)
        for here in one
        for there in other
    )


def _exclude(one: Step, other: Step) -> bool:
    module = one.site.frame.module
    if one.site.unit is not other.site.unit:
        arms = dict(_ifs(module, one.site.unit))
        return (
            any(arms.get(owner, block) is not block for owner, block in _ifs(module, other.site.unit))
            or _leaves_before(module, one.site.unit, other.site.unit)
            or _leaves_before(module, other.site.unit, one.site.unit)
        )
    if one.node is other.node:
        return None not in (one.function, other.function) and one.function is not other.function
    choices = (part for part in walk(one.site.unit) if isinstance(part, cst.IfExp))
    pairs = ({_arm(choice, one.node), _arm(choice, other.node)} for choice in choices)
    return any(len(pair - {None}) == 2 for pair in pairs)


def _ifs(module: Module, unit: Unit) -> Iterator[tuple[cst.If, cst.CSTNode]]:
    return ((owner, block) for owner, block in module.arms(unit) if isinstance(owner, cst.If))


def _leaves_before(module: Module, one: Unit, other: Unit) -> bool:
    """Whether one unit stands in an arm that returns before the other is reached."""
    round_other = [other, *module.ancestors(other)]
    for owner, block in _ifs(module, one):
        if module.leaves(block, ENDING):
            place = module.places[owner]
            behind = units_of(place.block)[place.index + 1 :]
            if any(unit in behind for unit in round_other):
                return True
    return False


def _arm(choice: cst.IfExp, node: cst.CSTNode | None) -> cst.BaseExpression | None:
    return next((arm for arm in (choice.body, choice.orelse) if any(part is node for part in walk(arm))), None)


def _is_made_after(made: Site, choice: Site) -> bool:
    """Whether that line runs again in each round of the loops round a choice, and in each call of its function."""
    for here in choice.chain():
        start = made.lifted(here.frame)
        outer = set(here.frame.module.ancestors(start.unit)) if start is not None else set()
        loops = (node for node in here.frame.module.ancestors(here.unit) if isinstance(node, cst.For | cst.While))
        if any(loop not in outer for loop in loops):
            return False
        if start is None and here.frame.call is None and here.frame.function is not None:
            return False
    return True
