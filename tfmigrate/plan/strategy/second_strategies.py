"""Two strategies in one process, each of which trains a model, of other shapes than the other one's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.strategy.placement import Placement
from tfmigrate.understand.lifecycle import TRAINING, ProgramFacts, Use
from tfmigrate.understand.program import Module
from tfmigrate.understand.values import Site

SECOND = (
    "a second strategy in one process: training under it fails once a model with other shapes has trained under the "
    "first (measured on TensorFlow 2.21 with CPUs)"
)
_ADVICE = "make one strategy and use it for both, or train in separate processes"


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


def say_second_strategies(placements: Iterable[Placement], facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> None:
    """Report two strategies that a migration writes for one process: of two functions, or of two programs that one
    script starts."""
    groups = {
        MadeStrategy(Site(group.owner, placement.before), group.wraps[0].call): group
        for placement in placements
        for group in placement.owner.groups
        if not placement.over_workers and not placement.strategy.taken_from
    }
    trainings = (
        (use, frozenset(strategy for strategy, group in groups.items() if use in group.trainings))
        for use in facts.uses
        if use.method in TRAINING
    )
    reported: set[cst.CSTNode] = set()
    for made_strategy, earlier in second_strategies(trainings) if len(groups) > 1 else ():
        if made_strategy.node not in reported:
            reported.add(made_strategy.node)
            place = earlier.place(made_strategy.site.frame.module)
            module = groups[made_strategy].wraps[0].site.frame.module
            drafts[module].say(codes.SECOND_STRATEGY, made_strategy.node, f"{SECOND}, as at {place}; {_ADVICE}", "warn")


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
