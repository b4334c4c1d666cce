"""Moves what stands outside a scope that the program already has into it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan.change.calls import is_none
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Edit, Scope, Unwrap
from tfmigrate.plan.on_strategy.earlier import lines_made_of, raised, unit_beside, unit_of
from tfmigrate.plan.on_strategy.idle import left_idle
from tfmigrate.plan.on_strategy.outside import Outside, order_of, things_outside
from tfmigrate.plan.on_strategy.scoping import Strategies
from tfmigrate.plan.strategy.scope import Cover, Run, first_common_unit
from tfmigrate.understand.blocks import Unit, block_of, only_statement
from tfmigrate.understand.lifecycle import TRAINING, ProgramFacts
from tfmigrate.understand.module import Module
from tfmigrate.understand.reaching import reaching, value_of
from tfmigrate.understand.scopes import Occurrence
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import Frame, Literal, ModelObject, Site


@dataclass(frozen=True)
class _Body:
    """A function, or a module's top level, and the scope that some of its units shall stand in."""

    module: Module
    function: cst.Module | cst.FunctionDef
    context: str

    @property
    def block(self) -> cst.Module | cst.BaseSuite:
        return block_of(self.function)


@dataclass(frozen=True)
class _Target:
    """A unit to stand in the scope of its body."""

    body: _Body
    frame: Frame
    unit: Unit
    late: tuple[cst.Assign, ...] = ()
    """The assignments that make the strategy, where they come after the unit and shall come before it."""


def plan_rescoping(
    facts: ProgramFacts, drafts: Mapping[Module, Draft], apart: Collection[ModelObject]
) -> frozenset[ModelObject]:
    """Say what stands outside its scope, and move it in where a scope can reach it. `apart`: models left out.

    Returns the models of what is moved.
    """
    moved: set[ModelObject] = set()
    scopes = _Scopes(facts, drafts)
    wanted: dict[_Body, list[_Target]] = {}
    for outside in (*things_outside(facts, apart), *left_idle(facts, drafts, apart)):
        targets = scopes.targets(outside)
        place = scopes.shown(outside, targets)
        draft, node = drafts[place.frame.module], place.unit
        if outside.meant:
            draft.say(outside.code, node, outside.message, "warn")
        elif targets is None:
            draft.say(outside.code, node, f"{outside.message}; move it in", "warn")
        elif draft.change(outside.code, node, outside.message):
            moved.update(outside.use.models)
            for target in targets:
                wanted.setdefault(target.body, []).append(target)
    for body, targets in wanted.items():
        drafts[body.module].edits.extend(scopes.edits(body, targets))
    return frozenset(moved)


class _Scopes:
    """The scopes that a program enters, and how far each reaches."""

    def __init__(self, facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> None:
        self._facts = facts
        self._drafts = drafts
        self._entered = {scope for entered in facts.entered.values() for scope in entered}
        self._training = frozenset(use.site for use in facts.uses if use.method in TRAINING)

    def targets(self, outside: Outside) -> list[_Target] | None:
        """Where the scope must stand for each of the things found; None where it cannot be written for one of them."""
        targets = []
        for site in outside.sites:
            target = self._near(site, outside.strategies) or self._far(site, outside)
            if target is None or _in_class_body(target):
                return None
            targets.append(target)
        return targets

    def shown(self, outside: Outside, targets: list[_Target] | None) -> Site:
        """The place to report: the line that moves, or the call itself."""
        for target in targets or ():
            lifted = outside.site.lifted(target.frame)
            if lifted is not None and lifted.unit is target.unit:
                return lifted
        return outside.site

    # ---- by the strategy's own name ----

    def _near(self, site: Site, strategies: Strategies) -> _Target | None:
        """The place, or the call it runs under, in the innermost function that knows the strategy."""
        for outer in site.chain():
            context = self._context(outer.frame, strategies)
            if context is None:
                continue
            if outer.frame is not site.frame and self._holds_more(outer):
                return None
            if self._reaches(context, outer, strategies):
                return _target(outer, context)
            late = self._late(outer, strategies)
            return _target(outer, context, late) if late is not None else None
        return None

    def _context(self, frame: Frame, strategies: Strategies) -> str | None:
        """The expression for the scope in a function: the one it enters itself, or its variable for the strategy."""
        module = frame.module
        for entered in sorted(self._entered, key=lambda entry: module.order.get(entry.block, 0)):
            if entered.frame is frame and entered.strategies & strategies and len(entered.block.items) == 1:
                return module.code(entered.block.items[0].item)
        for strategy in sorted(strategies, key=lambda made: order_of(made.site)):
            if strategy.site.frame is frame:
                assignment = _assignment(strategy.site.unit, strategy.node)
                return f"{module.code(assignment.targets[0].target)}.scope()" if assignment is not None else None
        return None

    def _holds_more(self, site: Site) -> bool:
        """Whether a call, taken into the scope as a whole, would take training or a scope of its own with it."""
        return any(use.lifted(site.frame) == site for use in self._training) or any(
            scope.frame is not site.frame and any(s == site for s in _calls_above(scope.frame))
            for scope in self._entered
        )

    def _reaches(self, context: str, site: Site, strategies: Strategies) -> bool:
        """Whether the context's name surely has its strategy at a place."""
        scope = cst.parse_expression(context)
        if not isinstance(scope, cst.Call) or not isinstance(scope.func, cst.Attribute):
            return False
        root = dotted(scope.func.value).split(".", 1)[0]
        module, unit = site.frame.module, site.unit
        draft = self._drafts[module]
        lexical = draft.scope_of(site.frame)
        home = draft.scopes.owner(root, lexical)
        if home is None:
            return False
        makers = [
            lifted for lifted in (strategy.site.lifted(site.frame) for strategy in strategies) if lifted is not None
        ]
        if not all(module.order[maker.unit] < module.order[unit] for maker in makers):
            return False
        mentions = reaching(root, lexical, draft.scopes)
        absent = {mention.unit for mention in mentions if self._may_be_none(mention, draft)}
        if home is not lexical:
            return not absent
        bindings = {mention.unit for mention in mentions} - absent
        if absent:
            last = max(module.order[gone] for gone in absent)
            return any(module.order[binding] > last and _before(binding, unit, module) for binding in bindings)
        return lexical.node in bindings or module.one_has_run(bindings, unit)

    @staticmethod
    def _may_be_none(binding: Occurrence, draft: Draft) -> bool:
        """Whether a name is bound to None, which has no scope, or to what may be that."""
        value = value_of(binding)
        arms = [value.body, value.orelse] if isinstance(value, cst.IfExp) else [value]
        return any(arm is not None and (is_none(arm) or Literal(None) in draft.facts.options(arm)) for arm in arms)

    def _late(self, site: Site, strategies: Strategies) -> tuple[cst.Assign, ...] | None:
        """The lines that make the strategy, after a place but fit to stand before it, in a block round it."""
        if len(strategies) != 1:
            return None
        (strategy,) = strategies
        module, late = site.frame.module, strategy.site.unit
        assignment = _assignment(late, strategy.node)
        if assignment is None or strategy.site.frame is not site.frame:
            return None
        early = unit_beside(late, site.unit, module)
        lines = lines_made_of(strategy, early, self._drafts) if early is not None else None
        return (*lines, assignment) if lines is not None else None

    # ---- by the model ----

    def _far(self, site: Site, outside: Outside) -> _Target | None:
        """A compile(), or what is made beside it for it, under the strategy of its model."""
        use = outside.use
        if use.method != "compile" or site.frame is not use.site.frame or not isinstance(use.call.func, cst.Attribute):
            return None
        receiver = dotted(use.call.func.value)
        root = receiver.split(".", 1)[0]
        module = site.frame.module
        draft = self._drafts[module]
        lexical = draft.scope_of(site.frame)
        bindings = reaching(root, lexical, draft.scopes) if root else []
        own = {mention.unit for mention in bindings if mention.scope is lexical}
        early = all(unit is lexical.node or module.order[unit] < module.order[site.unit] for unit in own)
        known = early and (not own or lexical.node in own or module.one_has_run(own, site.unit))
        if not bindings or not known or any(site in model.sites for model in use.models):
            return None
        return _target(site, f"{receiver}.distribute_strategy.scope()")

    # ---- the edits ----

    def edits(self, body: _Body, targets: Sequence[_Target]) -> Iterator[Edit]:
        """Blocks round the units, joined with the neighbouring ones that enter the same scope already."""
        module, units = body.module, frozenset(target.unit for target in targets)
        existing = frozenset(block for block in self._entered_in(body) if _stands_beside(block, units, module))
        frames = {target.frame for target in targets}
        lifted = {site.lifted(frame) for site in self._training for frame in frames}
        training = frozenset(site.unit for site in lifted if site is not None)
        late = sorted({line for target in targets for line in target.late}, key=module.position)
        gone = {unit_of(line, module) for line in late}
        cover = Cover(module, units | existing, training - units - existing, gone, ())
        runs = [run for run in cover.runs(body.block) if _holds_one_of(run, units, module)]
        for run in runs:
            yield Scope(run.units, body.context)
            for unit in run.units:
                if isinstance(unit, cst.With) and unit in existing:
                    yield Unwrap(unit, unit.body)
        for line in late:
            yield from raised(line, first_common_unit(module, runs), module)

    def _entered_in(self, body: _Body) -> frozenset[cst.With]:
        """The blocks of a body that enter its scope already, and nothing else."""
        blocks = (scope.block for scope in self._entered if _function(scope.frame) is body.function)
        return frozenset(
            block for block in blocks if len(block.items) == 1 and body.module.code(block.items[0].item) == body.context
        )


def _stands_beside(block: cst.With, units: frozenset[Unit], module: Module) -> bool:
    """Whether a scope stands in the block of one of some units, or round it, so that one for both is no deeper."""
    blocks = {id(module.places[unit].block) for unit in units}
    return id(module.places[block].block) in blocks or not units.isdisjoint(module.inside(block))


def _target(site: Site, context: str, late: tuple[cst.Assign, ...] = ()) -> _Target:
    return _Target(_Body(site.frame.module, _function(site.frame), context), site.frame, site.unit, late)


def _function(frame: Frame) -> cst.Module | cst.FunctionDef:
    return frame.function if isinstance(frame.function, cst.FunctionDef) else frame.module.tree


def _in_class_body(target: _Target) -> bool:
    """Whether a class lies between a unit and the function in which the scope would stand: its body is not covered."""
    owners = target.body.module.ancestors(target.unit)
    owner = next((owner for owner in owners if isinstance(owner, cst.FunctionDef | cst.ClassDef)), None)
    return isinstance(owner, cst.ClassDef)


def _holds_one_of(run: Run, units: frozenset[Unit], module: Module) -> bool:
    return any(inner in units for unit in run.units for inner in (unit, *module.inside(unit)))


def _calls_above(frame: Frame) -> Iterator[Site]:
    """The calls that an activation runs under."""
    if frame.call is not None:
        yield from frame.call.chain()


def _before(node: cst.CSTNode, other: cst.CSTNode, module: Module) -> bool:
    """Whether a unit has surely been run when another begins, both being of one function."""
    if module.order[node] >= module.order[other] or node in module.ancestors(other):
        return False
    arms = dict(module.arms(other))
    return all(arms.get(owner) is block for owner, block in module.arms(node))


def _assignment(unit: Unit, call: cst.Call) -> cst.Assign | None:
    """`strategy = tf.distribute.MirroredStrategy()`, alone on its line."""
    small = only_statement(unit)
    if isinstance(small, cst.Assign) and small.value is call and isinstance(small.targets[0].target, cst.Name):
        return small
    return None
