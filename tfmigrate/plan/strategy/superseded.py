"""multi_gpu_model called in the scope of a strategy: the scripts that do it wrote a strategy that has nothing to do."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.strategy.model_group import Group, Refusal, sites_to_cover
from tfmigrate.understand.lifecycle import Facts, ProgramFacts, Wrap
from tfmigrate.understand.scopes import LexicalScope, Scopes
from tfmigrate.understand.values import Entered, Site
from tfmigrate.walk import walk


@dataclass(frozen=True)
class Superseded:
    """Strategies that serve nothing but `with` blocks round a wrap: the strategy of the migration takes their place."""

    assignments: frozenset[cst.Assign] = frozenset()
    blocks: frozenset[cst.With] = frozenset()

    def names(self, function: cst.CSTNode) -> frozenset[str]:
        """The names that are free again in a function, or at a module's top level."""
        inside = set(walk(function))
        targets = [assign.targets[0].target for assign in self.assignments if assign in inside]
        return frozenset(target.value for target in targets if isinstance(target, cst.Name))


def superseded(facts: Facts, scopes: Scopes, wraps: Iterable[Wrap], program: ProgramFacts) -> Superseded:
    """The strategies in whose scope the wraps of a module stand, as far as nothing else uses them. Of other kinds, over
    several machines or with parameter servers, they mean something else."""
    assignments: set[cst.Assign] = set()
    blocks: set[cst.With] = set()
    entered = [entry for wrap in wraps for entry in program.entered.get(wrap.site, ()) if len(entry.block.items) == 1]
    own = [entry for entry in entered if entry.frame.module is facts.module]
    for block in own:
        for strategy in block.strategies:
            statement = next((a for a in _assigns(facts, block) if a.value is strategy.node), None)
            if strategy.name != "MirroredStrategy" or statement is None:
                continue
            if not isinstance(statement.targets[0].target, cst.Name):
                continue
            mentions = scopes.of_variable(statement.targets[0].target.value, _scope_of(facts, scopes, block))
            items = {node for other in own for node in walk(other.block.items[0])}
            if all(m.node in items or m.node is statement.targets[0].target for m in mentions):
                assignments.add(statement)
                blocks.add(block.block)
    return Superseded(frozenset(assignments), frozenset(blocks))


def in_a_scope_that_stays(
    groups: Iterable[Group], facts: ProgramFacts, going: Container[cst.CSTNode]
) -> Refusal | None:
    """A strategy of the program's own in whose scope a model is built, wrapped, compiled or trained.

    To enter the scope of one strategy inside that of another is a RuntimeError. `going`: the blocks that do not stay.
    """
    for group in groups:
        sites = {*sites_to_cover(group), *(wrap.site for wrap in group.wraps), *(use.site for use in group.trainings)}
        beside = [site for site in sites if not all(_never_both(site, wrap.site) for wrap in group.wraps)]
        entered = {entry for site in beside for entry in facts.entered.get(site, ()) if entry.strategies}
        staying = [(entry.frame.module, entry.block) for entry in entered if entry.block not in going]
        if staying:
            module, block = min(staying, key=lambda place: (place[0].path, place[0].order[place[1]]))
            place = module.place(block, group.wraps[0].site.frame.module)
            message = (
                f"the model is in the scope of a strategy that the program creates itself ({place}), inside which no "
                "other can be entered: remove that strategy, or multi_gpu_model"
            )
            return Refusal(codes.TWO_STRATEGIES, message)
    return None


def _never_both(first: Site, other: Site) -> bool:
    """Whether two places stand in different arms of one `if`, in the function that both are called from."""
    return any(
        (there := other.lifted(site.frame)) is not None and site.frame.module.exclusive(site.unit, there.unit)
        for site in first.chain()
    )


def _scope_of(facts: Facts, scopes: Scopes, entered: Entered) -> LexicalScope:
    return scopes.by_node[entered.frame.function or facts.module.tree]


def _assigns(facts: Facts, entered: Entered) -> list[cst.Assign]:
    nodes = walk(entered.frame.function or facts.module.tree)
    return [node for node in nodes if isinstance(node, cst.Assign) and len(node.targets) == 1]
