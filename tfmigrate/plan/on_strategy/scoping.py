"""In which strategy's scope a place of the program is, where that is known."""

from __future__ import annotations

from collections.abc import Collection

import libcst as cst

from tfmigrate.understand.lifecycle import ProgramFacts
from tfmigrate.understand.values import Frame, Site, StrategyObject
from tfmigrate.walk import walk

Strategies = frozenset[StrategyObject]


SYNCHRONOUS = frozenset({"MirroredStrategy", "MultiWorkerMirroredStrategy"})
"""Strategies for which it was measured what may stand outside their scope; see `outside`."""
_FALLBACKS = frozenset({"OneDeviceStrategy", "TPUStrategy"})
"""What programs use in their place on other machines. Measured for OneDeviceStrategy: Keras 3 fails as there."""


class Scoping:
    """Tells in which scope a place of the program stands, and keeps silent where that depends on who calls it."""

    def __init__(self, facts: ProgramFacts) -> None:
        self._facts = facts
        self._outermost = {strategy: outermost(strategy.site) for strategy in facts.strategies}
        self._entered = {scope for entered in facts.entered.values() for scope in entered}

    def strategies(self, site: Site) -> Strategies | None:
        """The strategies in whose scope a place stands; empty: in none, for sure; None: unknown."""
        entered = self._facts.entered.get(site, ())
        if self._facts.scopes_elsewhere or not all(scope.strategies for scope in entered):
            return None
        return entered[-1].strategies if entered else frozenset()

    def outside(self, site: Site, strategies: Collection[StrategyObject]) -> bool:
        """Whether a place surely stands in no scope. A function without a known caller may be called in one."""
        if self.strategies(site) != frozenset() or self._does_without(site, strategies):
            return False
        frame = outermost(site)
        return frame.function is None or any(self._outermost[strategy] is frame for strategy in strategies)

    def _does_without(self, site: Site, strategies: Collection[StrategyObject]) -> bool:
        """Whether a place is the other arm of an `if` that enters the scope, where a strategy is not always made."""
        return all(map(is_conditional, strategies)) and any(
            outer.frame is entered.frame
            and entered.strategies & frozenset(strategies)
            and outer.frame.module.exclusive(outer.unit, entered.block)
            for outer in site.chain()
            for entered in self._entered
        )

    def inside(self, site: Site) -> Strategies:
        """The strategies in whose scope a place surely stands, where one of them may be mirrored."""
        strategies = self.strategies(site) or frozenset()
        return strategies if may_be_mirrored(strategies) else frozenset()


def may_be_mirrored(strategies: Strategies) -> bool:
    """Whether one of the strategies that something may be is mirrored, and the others stand in for it."""
    names = {strategy.name for strategy in strategies}
    return bool(names & SYNCHRONOUS) and names <= SYNCHRONOUS | _FALLBACKS


def is_conditional(strategy: StrategyObject) -> bool:
    """Whether some `if` decides that a strategy is made."""
    parts = walk(strategy.site.unit) if not isinstance(strategy.site.unit, cst.BaseCompoundStatement) else ()
    chosen = any(isinstance(part, cst.IfExp) and strategy.node in walk(part) for part in parts)
    return chosen or any(
        isinstance(owner, cst.If) for outer in strategy.site.chain() for owner, _ in outer.frame.module.arms(outer.unit)
    )


def outermost(site: Site) -> Frame:
    *_, frame = site.frame.chain()
    return frame
