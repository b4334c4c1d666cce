"""A strategy that shall be made further up in its block, with the lines that it is made of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Edit, Insert, Remove
from tfmigrate.understand.blocks import Unit, only_statement, units_of
from tfmigrate.understand.carrier import Carrier
from tfmigrate.understand.module import Module
from tfmigrate.understand.purity import is_impure
from tfmigrate.understand.reaching import reaching
from tfmigrate.understand.scopes import Occurrence
from tfmigrate.understand.syntax import root_name
from tfmigrate.understand.values import StrategyObject, Visible
from tfmigrate.walk import nodes_in, walk, words_in

_SETUP = re.compile(r"\bconfig\b|environ|ConfigProto|\bset_")
"""What sets devices up must be done before a strategy is made."""


def unit_beside(made: cst.CSTNode, unit: cst.CSTNode, module: Module) -> cst.CSTNode | None:
    """The unit in the block of `made` that another unit is, or stands in; None where it stands elsewhere."""
    block = module.places[made].block
    return next((outer for outer in (unit, *module.ancestors(unit)) if module.places[outer].block is block), None)


def lines_made_of(
    strategy: StrategyObject, early: cst.CSTNode, drafts: Mapping[Module, Draft]
) -> list[cst.Assign] | None:
    """The assignments that go with a strategy that is made before `early`, a unit of its block; None where it cannot
    be made there."""
    site = strategy.site
    module, draft = site.frame.module, drafts[site.frame.module]
    places = module.places
    between = units_of(places[site.unit].block)[places[early].index : places[site.unit].index]
    if any(_SETUP.search(module.code(unit)) for unit in between):
        return None
    lines = _Making(draft, strategy, early, between).lines()
    values = [*(arg.value for arg in strategy.node.args), *(line.value for line in lines or ())]
    if between and not any(_is_visible(value, draft) for value in values):
        # What is changed between, as a list by append(), is another thing further up.
        return lines if Carrier(drafts).at(strategy.node, site, site.frame, early) is not None else None
    return lines


def raised(line: cst.Assign, early: cst.CSTNode, module: Module) -> Iterator[Edit]:
    """Move an assignment up to just before another line."""
    head = "".join(module.code(target) for target in line.targets)
    yield Remove(line)
    yield Insert(early, (head, line.value), (unit_of(line, module),))


def unit_of(line: cst.Assign, module: Module) -> cst.CSTNode:
    """The unit that an assignment is, alone on its line."""
    return next(unit for unit in module.places if only_statement(unit) is line)


@dataclass(frozen=True)
class _Making:
    """What a strategy is made of."""

    draft: Draft
    strategy: StrategyObject
    early: cst.CSTNode
    between: Sequence[Unit]
    """The units from there to the strategy."""

    def lines(self) -> list[cst.Assign] | None:
        """The assignments between that may as well be done before all of these units; None where that is not known."""
        arguments = [arg.value for arg in self.strategy.node.args]
        if not all(_may_be_earlier(value, self.draft) for value in arguments):
            return None
        lines: list[cst.Assign] = []
        met = words_in(*arguments)
        pending = sorted(met)
        while pending:
            name = pending.pop()
            if not self._is_bound_below(name):
                continue
            line = self._line_of(name)
            if line is None:
                return None
            lines.append(line)
            inner = words_in(line.value) - met
            met |= inner
            pending += sorted(inner)
        targets = (part.target for unit in self.between for part in nodes_in(unit, cst.AssignTarget))
        changed = {root.value for part in targets if not isinstance(part, cst.Name) and (root := root_name(part))}
        return None if changed & met else sorted(lines, key=self.draft.module.position)

    def _is_bound_below(self, name: str) -> bool:
        order = self.draft.module.order
        return any(order.get(mention.unit, -1) >= order[self.early] for mention in self._bindings(name))

    def _bindings(self, name: str) -> list[Occurrence]:
        scope = self.draft.scope_of(self.strategy.site.frame)
        return reaching(name, scope, self.draft.scopes)

    def _line_of(self, name: str) -> cst.Assign | None:
        """The one line between that binds a name, where it may be done earlier."""
        bindings = self._bindings(name)
        line = only_statement(bindings[0].unit)
        if len(bindings) != 1 or bindings[0].unit not in self.between or not isinstance(line, cst.Assign):
            return None
        return line if len(line.targets) == 1 and _may_be_earlier(line.value, self.draft) else None


def _may_be_earlier(value: cst.BaseExpression, draft: Draft) -> bool:
    """Whether an expression may as well be evaluated before a model is made: TensorFlow sees the same devices."""
    return _is_visible(value, draft) or not any(is_impure(node) and not _formats_text(node) for node in walk(value))


def _is_visible(value: cst.BaseExpression, draft: Draft) -> bool:
    """Whether an expression is the devices that TensorFlow sees."""
    known = draft.facts.options(value)
    return bool(known) and all(isinstance(option, Visible) for option in known)


def _formats_text(node: cst.CSTNode) -> bool:
    """`"/gpu:{}".format(i)`"""
    func = node.func if isinstance(node, cst.Call) else None
    return isinstance(func, cst.Attribute) and func.attr.value == "format" and isinstance(func.value, cst.SimpleString)
