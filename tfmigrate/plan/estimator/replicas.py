"""The code that gives the number of replicas at a place, by the name that the strategy has there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan.draft import Draft
from tfmigrate.plan.estimator.strategy_calls import default_of
from tfmigrate.understand.module import Module
from tfmigrate.understand.values import Frame, StrategyObject
from tfmigrate.walk import walk
from tfmigrate.written import Written


@dataclass(frozen=True)
class Replicas:
    """The replicas of one strategy."""

    drafts: Mapping[Module, Draft]
    strategy: StrategyObject
    name: str
    """The strategy's name in `frame`."""
    frame: Frame
    """Where the Estimator is made."""

    def name_in(self, module: Module, place: cst.CSTNode) -> str | None:
        """The strategy's name as it is seen in a function, or at the top of a module; None where it is not."""
        site = self.strategy.site
        home = site.frame.function
        if site.frame.module is not module or isinstance(home, cst.Lambda):
            return None
        if home is not None and place is not home and place not in set(walk(home)):
            return None
        small = site.unit.body[0] if isinstance(site.unit, cst.SimpleStatementLine) else None
        target = small.targets[0].target if isinstance(small, cst.Assign) else None
        if not isinstance(small, cst.Assign) or small.value is not self.strategy.node:
            return self.name if site.frame is self.frame else None
        if not isinstance(target, cst.Name):
            return None
        scopes = self.drafts[module].scopes
        owner = scopes.owner(target.value, scopes.by_node[place])
        return target.value if owner is not None and owner.node is (home or module.tree) else None

    def number_in(self, module: Module, place: cst.CSTNode) -> Written:
        """The code of their number in a function of a module; where the strategy has no name there, the function is run
        in its scope, and asks for the current strategy."""
        known = self.name_in(module, place) or default_of(self.drafts[module])
        return Written.of(f"{known}.num_replicas_in_sync")

    def number_at(self, frame: Frame, receiver: Written) -> Written:
        """The code of their number where the Estimator, which is called `receiver`, is used."""
        if frame is self.frame:
            return Written.of(f"{self.name}.num_replicas_in_sync")
        return Written.of(receiver, ".distribute_strategy.num_replicas_in_sync")
