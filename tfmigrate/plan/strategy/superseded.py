"""multi_gpu_model called in the scope of a strategy: the scripts that do it wrote a strategy that has nothing to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import libcst as cst

from tfmigrate.understand.lifecycle import Facts, ProgramFacts, Wrap
from tfmigrate.understand.scopes import LexicalScope, Scopes
from tfmigrate.understand.values import Entered
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
    """The strategies in whose scope the wraps of a module stand, as far as nothing else uses them."""
    assignments: set[cst.Assign] = set()
    blocks: set[cst.With] = set()
    entered = [entry for wrap in wraps for entry in program.entered.get(wrap.site, ()) if len(entry.block.items) == 1]
    own = [entry for entry in entered if entry.frame.module is facts.module]
    for block in own:
        for strategy in block.strategies:
            statement = next((a for a in _assigns(facts, block) if a.value is strategy.node), None)
            if statement is None or not isinstance(statement.targets[0].target, cst.Name):
                continue
            mentions = scopes.of_variable(statement.targets[0].target.value, _scope_of(facts, scopes, block))
            items = {node for other in own for node in walk(other.block.items[0])}
            if all(m.node in items or m.node is statement.targets[0].target for m in mentions):
                assignments.add(statement)
                blocks.add(block.block)
    return Superseded(frozenset(assignments), frozenset(blocks))


def _scope_of(facts: Facts, scopes: Scopes, entered: Entered) -> LexicalScope:
    return scopes.by_node[entered.frame.function or facts.module.tree]


def _assigns(facts: Facts, entered: Entered) -> list[cst.Assign]:
    nodes = walk(entered.frame.function or facts.module.tree)
    return [node for node in nodes if isinstance(node, cst.Assign) and len(node.targets) == 1]
