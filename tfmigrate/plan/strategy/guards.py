"""What is left of the statements round a wrap once the wrap is gone: guards, device blocks, empty arms."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection, Iterator, Mapping
from itertools import zip_longest
from typing import TypeGuard

import libcst as cst

from tfmigrate.plan.edits import Branch, Unwrap
from tfmigrate.plan.strategy.merged import Merge
from tfmigrate.plan.strategy.merged_code import MergedCode
from tfmigrate.plan.strategy.negations import negated
from tfmigrate.understand.blocks import only_statement, suites_of, units_of
from tfmigrate.understand.contents import models_of, opaque_sites
from tfmigrate.understand.lifecycle import Facts, Wrap
from tfmigrate.understand.module import Module
from tfmigrate.understand.purity import is_impure, is_pure
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.syntax import dotted, errors_of
from tfmigrate.understand.values import Literal, Visible
from tfmigrate.walk import children, walk
from tfmigrate.written import Written

_FIRST_GPU = re.compile(r"gpu:0\b", re.IGNORECASE)
_DEFAULT_DEVICE = re.compile(r"cpu|gpu:0\b", re.IGNORECASE)


def is_cpu_device(unit: cst.CSTNode, facts: Facts) -> bool:
    """`with tf.device('/cpu:0'):`, which kept the template off the GPUs."""
    device = device_of(unit, facts)
    return isinstance(device, cst.SimpleString) and "cpu" in device.value.lower()


def device_of(unit: cst.CSTNode, facts: Facts) -> cst.BaseExpression | None:
    """What names the device of a `with tf.device(...):`; None for any other statement."""
    if not isinstance(unit, cst.With) or len(unit.items) != 1:
        return None
    call = unit.items[0].item
    if not isinstance(call, cst.Call) or len(call.args) != 1 or call.args[0].star:
        return None
    name = facts.called(call)
    return call.args[0].value if name.rsplit(".", 1)[-1] in ("device", "device_scope") else None


def _is_if(node: cst.CSTNode) -> TypeGuard[cst.If]:
    return isinstance(node, cst.If)


def _built_at(wrap: Wrap) -> Iterator[cst.CSTNode]:
    """The statements that build the wrapped model, and those whose calls lead there."""
    return (outer.unit for site in opaque_sites(wrap.template) for outer in site.chain())


def _is_pass(unit: cst.CSTNode) -> bool:
    return isinstance(unit, cst.SimpleStatementLine | cst.SimpleStatementSuite) and all(
        isinstance(small, cst.Pass) for small in unit.body
    )


MISSING_DEVICES = "ValueError"
"""What multi_gpu_model raised where there were not as many GPUs."""
_ALL_ERRORS = frozenset({"Exception", "BaseException", "StandardError"})
_GROUPS = {"KeyError": frozenset({"LookupError"})}


def handles(tried: cst.Try, error: str) -> bool:
    """Whether a `try` handles an error, as far as can be seen: a class of the program's own may be any."""
    kinds = {kind for handler in tried.handlers for kind in errors_of(handler)}
    known = all(isinstance(getattr(builtins, kind, None), type) for kind in kinds)
    return not known or not kinds.isdisjoint({error, *_ALL_ERRORS, *_GROUPS.get(error, ())})


class Blocks:
    """Follows what vanishes and decides what becomes of the compound statements round it."""

    def __init__(
        self,
        facts: Facts,
        variables: Scopes,
        wraps: tuple[Wrap, ...],
        removed: frozenset[cst.CSTNode],
        merge: Merge,
        strategies: Mapping[cst.CSTNode, str],
        scopes: Collection[cst.CSTNode] = (),
    ) -> None:
        """`strategies`: the name of the strategy that decides instead of each `try` round a wrap; `scopes`: `with`
        blocks that go because their strategy does."""
        self._scopes = scopes
        self._variables = variables
        self._facts = facts
        self._module: Module = facts.module
        self._wraps = wraps
        self._asking = {guard.node for wrap in wraps for guard in wrap.guards if isinstance(guard.test, Visible)}
        """Conditions that ask for nothing but the GPUs of the machine."""
        self._removed = removed
        self._strategies = strategies
        self._names = {node.value: new for node, new in merge.renamed if node not in merge.brief}
        self._brief: dict[cst.CSTNode, str] = {node: new for node, new in merge.renamed if node in merge.brief}
        self._unpacked = dict(merge.unpacked)
        self.edits: list[Unwrap | Branch] = []
        self.gone: set[cst.CSTNode] = set()
        """Units that are removed entirely."""
        self.transparent: set[cst.CSTNode] = set()
        """Compound statements whose content takes their place."""
        self._left_of: dict[cst.CSTNode, cst.BaseSuite] = {}
        """What takes the place of a `try` or an `if`, where that is not its body."""
        self._touched = self._round_about()
        self._settle(self._module.tree)

    def _round_about(self) -> set[cst.CSTNode]:
        """The units that are removed or wrapped, or keep a template off the GPUs, with all that stands round them."""
        concerned: set[cst.CSTNode] = set()
        wrapped = {wrap.site.unit for wrap in self._wraps}
        for unit in self._module.places:
            if (
                unit in wrapped
                or (self._is_line(unit) and any(small in self._removed for small in unit.body))  # type: ignore[attr-defined]
                or (self._is_device(unit) and (self._holds_template(unit) or self._is_in_the_other_arm(unit)))
            ):
                concerned.add(unit)
                concerned.update(self._module.ancestors(unit))
        return concerned

    @staticmethod
    def _is_line(unit: cst.CSTNode) -> bool:
        return isinstance(unit, cst.SimpleStatementLine | cst.SimpleStatementSuite)

    def _settle(self, block: cst.Module | cst.BaseSuite) -> None:
        """Decide what becomes of the statements of a block, inner ones first."""
        for unit in units_of(block):
            if unit not in self._touched:
                continue
            if self._is_line(unit):
                if all(small in self._removed for small in unit.body):  # type: ignore[union-attr]
                    self.gone.add(unit)
                continue
            for suite in suites_of(unit):
                self._settle(suite)
            if self._is_device(unit) or unit in self._scopes or self._is_empty_device(unit):
                self._unwrap(unit)
            elif isinstance(unit, cst.If):
                self._settle_if(unit)
            elif isinstance(unit, cst.Try):
                self._settle_try(unit)

    def _is_device(self, unit: cst.CSTNode) -> bool:
        """Whether a `with tf.device(...):` says nothing beside a strategy, which places the variables itself.

        The first GPU is where everything is without a strategy. Any other device counts there.
        """
        device = device_of(unit, self._facts)
        if device is None or not is_pure(device):
            return False
        return self._is_default(device) or self._is_always_spread(unit)

    def _is_default(self, device: cst.BaseExpression) -> bool:
        """Whether it is the processor or the first GPU that an expression names, whichever of the two."""
        if isinstance(device, cst.IfExp):
            return self._is_default(device.body) and self._is_default(device.orelse)
        if isinstance(device, cst.SimpleString):
            return _DEFAULT_DEVICE.search(device.value) is not None
        known = [option.value if isinstance(option, Literal) else None for option in self._facts.options(device)]
        return bool(known) and all(isinstance(name, str) and _DEFAULT_DEVICE.search(name) for name in known)

    def _is_empty_device(self, unit: cst.CSTNode) -> bool:
        """Whether nothing is left in a `with tf.device(...):`."""
        device = device_of(unit, self._facts)
        return isinstance(unit, cst.With) and device is not None and is_pure(device) and self._empty(unit.body)

    def _is_always_spread(self, unit: cst.CSTNode) -> bool:
        """Whether what a block wraps is wrapped whenever the block runs."""
        inside = {*self._module.inside(unit)}
        held = [wrap for wrap in self._wraps if wrap.site.unit in inside or not inside.isdisjoint(_built_at(wrap))]
        arms = dict(self._module.arms(unit))
        known = {(self._module.code(node.test), block is node.body) for node, block in arms.items() if _is_if(node)}
        return bool(held) and all(
            isinstance(guard.node, cst.If)
            and guard.test is not None
            and (self._module.code(guard.node.test), guard.arm == "body") in known
            for wrap in held
            for guard in wrap.guards
        )

    def _is_in_the_other_arm(self, unit: cst.CSTNode) -> bool:
        """Whether a block puts on the first GPU what is built where nothing is wrapped: it is there without that."""
        device = device_of(unit, self._facts)
        first = isinstance(device, cst.SimpleString) and _FIRST_GPU.search(device.value)
        choices = {guard.node for wrap in self._wraps for guard in wrap.guards if isinstance(guard.node, cst.If)}
        return bool(first) and not choices.isdisjoint(self._module.ancestors(unit))

    def _holds_template(self, unit: cst.CSTNode) -> bool:
        """Whether a part of a wrapped model is built in a block, or the model compiled."""
        inside = set(self._module.inside(unit))
        if any(not inside.isdisjoint(_built_at(wrap)) for wrap in self._wraps):
            return True
        wrapped = frozenset().union(*(models_of(wrap.template) for wrap in self._wraps))
        compiles = (use for use in self._facts.uses if use.method == "compile" and use.site.unit in inside)
        return any(not use.models.isdisjoint(wrapped) for use in compiles)

    def _unwrap(self, unit: cst.CSTNode) -> None:
        assert isinstance(unit, cst.With)
        self.edits.append(Unwrap(unit, None if self._empty(unit.body) else unit.body))
        (self.gone if self._empty(unit.body) else self.transparent).add(unit)

    def _empty(self, suite: cst.BaseSuite | None) -> bool:
        return suite is None or all(unit in self.gone or _is_pass(unit) for unit in units_of(suite))

    def _settle_if(self, unit: cst.If) -> None:
        """Remove an `if` with nothing left in it; leave the arm that is not empty, or one of two that are the same."""
        if isinstance(unit.orelse, cst.If):
            self._settle_chain(unit, unit.orelse)
            return
        orelse = unit.orelse.body if unit.orelse is not None else None
        body_empty, orelse_empty = self._empty(unit.body), self._empty(orelse)
        if body_empty and orelse_empty:
            if self._can_go(unit):
                self.edits.append(Unwrap(unit, None))
                self.gone.add(unit)
        elif body_empty and orelse is not None:
            self.edits.append(Branch(unit, negated(Written.at(unit.test)).code, orelse, None))
        elif orelse is not None and orelse_empty:
            self.edits.append(Branch(unit, (unit.test,), unit.body, None))
        elif orelse is not None and self._can_go(unit):
            kept = self._either(unit.body, orelse)
            if kept is not None:
                self.edits.append(Unwrap(unit, kept))
                self._left_of[unit] = kept
                self.transparent.add(unit)

    def _either(self, body: cst.BaseSuite, orelse: cst.BaseSuite) -> cst.BaseSuite | None:
        """One of two arms that do the same; where a number stands in one and its name in the other, the latter."""
        if self._same(self.sense(body), self.sense(orelse)):
            return body
        named, others = self._constants(body), self._constants(orelse)
        if not named and not others:
            return None
        written = {**named, **others, **self._brief}
        if not self._same(self._sense(body, written), self._sense(orelse, written)):
            return None
        return body if len(named) >= len(others) else orelse

    def _constants(self, suite: cst.BaseSuite) -> dict[cst.CSTNode, str]:
        """The names in a block that always stand for one number or text, as it is written."""
        targets = {part.target for part in walk(suite) if isinstance(part, cst.AssignTarget | cst.For | cst.AugAssign)}
        found: dict[cst.CSTNode, str] = {}
        for part in walk(suite):
            value = settled(part, self._variables) if isinstance(part, cst.Name) and part not in targets else None
            if isinstance(value, cst.Integer | cst.Float | cst.SimpleString):
                found[part] = value.value
        return found

    def _settle_chain(self, unit: cst.If, rest: cst.If) -> None:
        """Remove the arms below the first of an `if` with an `elif`, where nothing is left in any of them."""
        below: cst.If | cst.Else | None = rest
        while isinstance(below, cst.If):
            if not self._empty(below.body) or not self._can_go(below):
                return
            below = below.orelse
        if below is not None and not self._empty(below.body):
            return
        if not self._empty(unit.body):
            self.edits.append(Branch(unit, (unit.test,), unit.body, None))
        elif self._can_go(unit):
            self.edits.append(Unwrap(unit, None))
            self.gone.add(unit)

    def _can_go(self, unit: cst.If) -> bool:
        """Whether nothing is lost when the condition of an `if` is no longer evaluated."""
        return unit in self._asking or self._only_asks(unit.test)

    def _only_asks(self, node: cst.CSTNode) -> bool:
        """Whether evaluating a condition has no effect, or only asks for the GPUs of the machine."""
        if is_pure(node) or isinstance(self._facts.values.get(node), Visible):
            return True
        return not is_impure(node) and all(self._only_asks(child) for child in children(node))

    def _settle_try(self, unit: cst.Try) -> None:
        """`try: wrap except ValueError: fall back` asks whether there are GPUs; the strategy knows."""
        if len(unit.handlers) != 1 or unit.finalbody is not None or unit not in self._strategies:
            return
        if not handles(unit, MISSING_DEVICES):
            if unit.orelse is None and self._empty(unit.body):
                self.edits.append(Unwrap(unit, None))
                self.gone.add(unit)
            return
        suite, handler = unit.body, unit.handlers[0].body
        if unit.orelse is not None:
            if not self._empty(suite):
                return
            suite = unit.orelse.body
        if self._empty(suite) and self._empty(handler):
            self.edits.append(Unwrap(unit, None))
            self.gone.add(unit)
        elif not self._empty(suite) and self._same(self.sense(suite), self.sense(handler)):
            self.edits.append(Unwrap(unit, suite))
            self._left_of[unit] = suite
            self.transparent.add(unit)
        elif self._differ_in_words(suite, unit.handlers[0]):
            replicas = f"{self._strategies[unit]}.num_replicas_in_sync"
            if self._says_nothing(suite):
                self.edits.append(Branch(unit, (f"{replicas} == 1",), handler, self._unless_empty(suite)))
            else:
                self.edits.append(Branch(unit, (f"{replicas} > 1",), suite, self._unless_empty(handler)))

    def _unless_empty(self, suite: cst.BaseSuite) -> cst.BaseSuite | None:
        return None if self._empty(suite) else suite

    def _differ_in_words(self, suite: cst.BaseSuite, handler: cst.ExceptHandler) -> bool:
        """Whether what remains of two blocks only says different things, and assigns the same, which cannot fail."""
        name = handler.name.name if handler.name is not None else None
        if isinstance(name, cst.Name) and any(
            isinstance(part, cst.Name) and part.value == name.value for part in walk(handler.body)
        ):
            return False
        acts = [[unit for unit in units_of(block) if not self._only_talks(unit)] for block in (suite, handler.body)]
        if not all(self._is_plain(unit) for block in acts for unit in block):
            return False
        first, second = ((said for unit in block for said in self._sense_of(unit, self._brief)) for block in acts)
        return self._same(first, second)

    def _says_nothing(self, suite: cst.BaseSuite) -> bool:
        return all(unit in self.gone or _is_pass(unit) or self._is_plain(unit) for unit in units_of(suite))

    def _is_plain(self, unit: cst.CSTNode) -> bool:
        """Whether a unit is `self.model = model`, as it will stand."""
        small = only_statement(unit)
        if not isinstance(small, cst.Assign):
            return False
        single = (wrap for wrap in self._wraps if wrap.template_node is not None and wrap.together is None)
        wrapped = {wrap.call for wrap in single if dotted(wrap.template_node)}
        targets = all(dotted(target.target) for target in small.targets)
        return targets and (small.value in wrapped or bool(dotted(small.value)))

    def _only_talks(self, unit: cst.CSTNode) -> bool:
        """Whether what remains of a unit are calls for their own sake: print, logging."""
        return unit in self.gone or (
            isinstance(unit, cst.SimpleStatementLine)
            and all(isinstance(small, cst.Expr | cst.Pass) or small in self._removed for small in unit.body)
        )

    def sense(self, suite: cst.BaseSuite) -> Iterator[str]:
        """What a block does once the plan is carried out, whatever it looks like: a text for each statement."""
        return self._sense(suite, self._brief)

    def _sense(self, suite: cst.BaseSuite, written: Mapping[cst.CSTNode, str]) -> Iterator[str]:
        """`written`: what replaces some of the names in the block."""
        for unit in units_of(suite):
            yield from self._sense_of(unit, written)

    def _sense_of(self, unit: cst.CSTNode, written: Mapping[cst.CSTNode, str]) -> Iterator[str]:
        if unit in self.gone:
            return
        if unit in self.transparent and isinstance(unit, cst.With | cst.If | cst.Try):
            yield from self._sense(self._left_of.get(unit, unit.body), written)
            return
        wraps = {wrap.call: wrap for wrap in self._wraps}
        merged = unit.visit(MergedCode(wraps, self._unpacked, self._names, written))
        assert isinstance(merged, cst.CSTNode)
        line = isinstance(merged, cst.SimpleStatementLine | cst.SimpleStatementSuite)
        for part in merged.body if line else [merged]:  # type: ignore[attr-defined]  # On lines of their own or not.
            yield ast.dump(ast.parse(self._module.code(part).strip()))

    @staticmethod
    def _same(one: Iterator[str], other: Iterator[str]) -> bool:
        return all(first == second for first, second in zip_longest(one, other))
