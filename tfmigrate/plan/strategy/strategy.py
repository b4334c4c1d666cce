"""A strategy as an expression: on which devices, and under which conditions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import libcst as cst

from tfmigrate.plan.strategy.conditions import any_of, clauses
from tfmigrate.plan.strategy.negations import negated
from tfmigrate.understand.expressions import names_in
from tfmigrate.understand.folding import constant
from tfmigrate.walk import nodes_in
from tfmigrate.written import Code, Written

_LINE = 100
_CONDITION = 80
"""Characters of a condition that stands behind its `if`, which is indented."""


@dataclass(frozen=True)
class Strategy:
    """Which devices, and under which conditions more than one of them.

    `conditions`: for each way to get there what must hold, from the outside in; nothing is always.
    """

    devices: Written
    conditions: tuple[tuple[Written, ...], ...]
    name: str = "MirroredStrategy"
    """Its class in tf.distribute."""
    taken_from: str = ""
    """Where it is at hand already, and is not made: `self.model.distribute_strategy`."""

    def joined(self, other: Strategy) -> Strategy | None:
        """The strategy that serves both, or None where they ask for different devices."""
        if self.devices != other.devices:
            return None
        ways = dict.fromkeys((*self.conditions, *other.conditions))
        for first, second in combinations(tuple(ways), 2):
            apart = [place for place, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1]]
            if len(first) == len(second) and len(apart) == 1 and negated(first[apart[0]]) == second[apart[0]]:
                ways[first[: apart[0]] + first[apart[0] + 1 :]] = None  # both arms of an `if`
        # A way that asks for more than another one adds nothing to it.
        return Strategy(self.devices, tuple(way for way in ways if not any(set(less) < set(way) for less in ways)))

    @property
    def condition(self) -> Written | None:
        """The conditions as one expression; None is always."""
        return None if () in self.conditions else any_of(self.conditions)

    @property
    def names(self) -> frozenset[str]:
        """Every name in its devices and conditions."""
        read = [*(part for way in self.conditions for part in way), *([self.devices] if self.devices else [])]
        return frozenset[str]().union(*(names_in(part.tree) for part in read))

    @property
    def free_names(self) -> frozenset[str]:
        """The same without those that a comprehension in them binds for itself."""
        parts = [*(part for way in self.conditions for part in way), self.devices]
        trees = [part.tree for part in parts if part]
        own = (names_in(clause.target) for tree in trees for clause in nodes_in(tree, cst.CompFor))
        return self.names - frozenset[str]().union(*own)

    def statement(self, name: str, tf: str, indent: str) -> Code:
        """The assignment, broken over lines where it is long."""
        devices = ("devices=", self.devices) if self.devices else ()
        made = Written.of(f"{tf}.distribute.{self.name}(", *devices, ")")
        mirrored = Written.of(self.taken_from) if self.taken_from else made
        if self.condition is None:
            return Written.of(f"{name} = ", mirrored).code
        default = f"{tf}.distribute.get_strategy()"
        known = constant(self.condition.tree)
        if known is not None and not known.value:
            return Written.of(f"{name} = {default}").code
        line = Written.of(f"{name} = ", mirrored, " if ", self.condition, f" else {default}")
        if len(line.text) <= _LINE:
            return line.code
        condition = _in_lines(self.condition, indent)
        choice = (mirrored, f"\n{indent}if ", *condition, f"\n{indent}else {default}")
        return Written.of(f"{name} = (\n{indent}", *choice, "\n)").code


def _in_lines(condition: Written, indent: str) -> tuple[Written | str, ...]:
    """A condition, a line for each of its parts where it is long."""
    word, parts = clauses(condition)
    if len(condition.text) <= _CONDITION or not word:
        return (condition,)
    deeper = f"\n{indent}{indent}"
    others = (piece for part in parts[1:] for piece in (f"{deeper}{word} ", part))
    return ("(", deeper, parts[0], *others, f"\n{indent})")


ALL_WORKERS = Strategy(Written.of(), ((),), "MultiWorkerMirroredStrategy")
"""Over several machines each worker brings the GPUs it sees, and one GPU a worker is worth a strategy too."""
