"""Two strategies in one process, each of which trains a model, of other shapes than the other one's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.strategy.placement import Placement
from tfmigrate.understand.blocks import Unit
from tfmigrate.understand.lifecycle import TRAINING, ProgramFacts, Use
from tfmigrate.understand.module import Module
from tfmigrate.understand.values import Site

SECOND = (
    "a second strategy in one process: training under it fails once a model with other shapes has trained under the "
    "first (measured on TensorFlow 2.21 with CPUs)"
)
_ADVICE = "create one strategy and use it for both, or train in separate processes"


@dataclass(frozen=True, eq=False)
class MadeStrategy:
    """A strategy as one run of the program makes it."""

    site: Site
    node: cst.CSTNode
    """Where it is reported."""


def second_strategies(trainings: Iterable[tuple[Use, frozenset[MadeStrategy]]]) -> Iterator[tuple[MadeStrategy, Use]]:
    """Each strategy that trains a model after another one did, with the first training under that.

    `trainings`: the calls that train, in the order in which they run, each with the strategies of its models.
    """
    trained: list[tuple[MadeStrategy, Use, set[_Recipe]]] = []
    for use, strategies in trainings:
        recipes = _recipes(use)
        for strategy in strategies:
            for other, earlier, others in trained:
                if (
                    other not in strategies
                    and recipes.isdisjoint(others)
                    and _follows(strategy.site, earlier.site)
                    and _follows(use.site, strategy.site)
                ):
                    yield strategy, earlier
                    break
        trained.extend((strategy, use, recipes) for strategy in strategies)


def between_placements(
    placements: Iterable[Placement], facts: ProgramFacts
) -> Iterator[tuple[Placement, MadeStrategy, Use]]:
    """Each strategy that a migration writes for one process after another one has trained: of two functions, or of two
    programs that one script starts."""
    placed: dict[MadeStrategy, Placement] = {}
    by_use: dict[Use, set[MadeStrategy]] = {}
    for_all: dict[Unit, MadeStrategy] = {}
    for placement in placements:
        if placement.over_workers or placement.strategy.taken_from:
            continue
        for group in placement.owner.groups:
            strategy = MadeStrategy(Site(group.owner, placement.before), group.wraps[0].call)
            if placement.for_all:
                strategy = for_all.setdefault(placement.before, strategy)
            placed[strategy] = placement
            for use in group.trainings:
                by_use.setdefault(use, set()).add(strategy)
    if len(placed) > 1:
        trainings = ((use, frozenset(by_use[use])) for use in facts.uses if use.method in TRAINING and use in by_use)
        for strategy, earlier in second_strategies(trainings):
            yield placed[strategy], strategy, earlier


def say_second_strategies(placements: Iterable[Placement], facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> None:
    reported: set[cst.CSTNode] = set()
    for placement, strategy, earlier in between_placements(placements, facts):
        if strategy.node not in reported:
            reported.add(strategy.node)
            wrap = next(wrap for wrap in placement.owner.wraps if wrap.call is strategy.node)
            place = earlier.place(strategy.site.frame.module)
            message = f"{SECOND}, as at {place}; {_ADVICE}"
            drafts[wrap.site.frame.module].say(codes.SECOND_STRATEGY, strategy.node, message, "warn")


_Recipe = tuple[cst.CSTNode, tuple[str, ...]]


def _recipes(use: Use) -> set[_Recipe]:
    """How the models of a call are built: by which expression, and with which arguments of the function round it.

    Models of one recipe have variables of the same shapes, with which a second strategy does no harm. Arguments are
    compared as they are written: that a name is bound to another size between two calls is rare.
    """
    recipes = set()
    for model in use.models:
        call, caller = model.site.frame.call_node, model.site.frame.call
        module = caller.frame.module if caller is not None else model.site.frame.module
        recipes.add((model.node, tuple(module.code(arg.value) for arg in (call.args if call is not None else ()))))
    return recipes


def _follows(first: Site, other: Site) -> bool:
    """Whether a place is surely reached after another one in the same run of the program."""
    *_, frame = first.frame.chain()
    *_, outermost = other.frame.chain()
    if frame is not outermost:
        return False
    for site in first.chain():
        there = other.lifted(site.frame)
        if there is not None:
            module = site.frame.module
            return there.unit is not site.unit and not module.exclusive(site.unit, there.unit)
    return False
