"""What is left of a module's statements when its wraps go: the template where the parallel model was, and no guards."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import libcst as cst

from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Collapse, Edit, Remove, Replace, Unwrap
from tfmigrate.plan.strategy.compiles import compiled_again
from tfmigrate.plan.strategy.guards import Blocks
from tfmigrate.plan.strategy.idle_functions import IdleFunction, idle_functions
from tfmigrate.plan.strategy.merge_names import merge
from tfmigrate.plan.strategy.merged import Merge, wrapped_assignment
from tfmigrate.plan.strategy.owner import Owner
from tfmigrate.plan.strategy.superseded import superseded
from tfmigrate.understand import names
from tfmigrate.understand.blocks import only_statement, suites_of, units_of
from tfmigrate.understand.import_statements import imports_of
from tfmigrate.understand.lifecycle import ProgramFacts, Together, Wrap
from tfmigrate.understand.module import Module
from tfmigrate.understand.purity import is_pure
from tfmigrate.understand.syntax import dotted, index_of, root_name
from tfmigrate.walk import walk
from tfmigrate.written import listed

_PRINTS = frozenset({"print", "info", "debug", "warning", "warn", "log"})
_OLD = re.compile(r"\bmulti_gpu_model\b")


@dataclass(frozen=True)
class Remains:
    """What is left of one module's statements round its wraps."""

    draft: Draft
    wraps: tuple[Wrap, ...]
    """One for each call."""
    merge: Merge
    blocks: Blocks
    superfluous: frozenset[cst.BaseSmallStatement]
    """Statements that make a strategy which the new one takes the place of, and those that compile one model again or
    repeat their neighbour."""
    calls: tuple[Wrap, ...] = ()
    """Calls of functions that only wrap, as if they were the wraps."""
    idle: tuple[cst.FunctionDef, ...] = ()
    """Such functions."""

    def edits(self, refused: Container[cst.Call]) -> Iterator[Edit]:
        yield from (Remove(node) for node in (*self.merge.removed, *self.superfluous))
        yield from (Replace(node, new) for node, new in (*self.merge.renamed, *self.merge.replaced))
        yield from (Replace(one.target, listed([(node,) for node in left])) for one, left in self.merge.shortened)
        yield from self.blocks.edits
        yield from self._arms()
        yield from (Unwrap(function, None) for function in self.idle)
        for wrap in (*self.wraps, *self.calls):
            assignment = wrapped_assignment(wrap)
            if wrap.together is not None:
                yield from self._apart(wrap, wrap.together)
            elif assignment not in self.merge.removed and wrap.template_node is not None:
                yield Replace(_choice_of(wrap) or wrap.call, (wrap.template_node,))
        if not any(wrap.call in refused for wrap in self.draft.facts.wraps):
            yield from self._words()

    def _apart(self, wrap: Wrap, together: Together) -> Iterator[Edit]:
        """The model in the place of each of the two that a copy gave back."""
        template = wrap.template_node
        statement = next((part for part in walk(wrap.site.unit) if getattr(part, "value", None) is wrap.call), None)
        if template is None or statement in self.merge.removed:
            return
        bound = dict(self.merge.unpacked).get(statement) if isinstance(statement, cst.Assign) else None
        if isinstance(statement, cst.Assign) and bound is not None:
            yield Replace(statement.targets[0].target, listed([(node,) for node in bound]))
            yield Replace(wrap.call, listed([(template,)] * len(bound)))
        elif isinstance(statement, cst.Subscript) and index_of(statement) is not None:
            yield Replace(statement, (template,))
        else:
            yield Replace(wrap.call, together.written(template).code)

    def _words(self) -> Iterator[Replace]:
        """What the program prints of the old function is true of the strategy."""
        strategy = "MultiWorkerMirroredStrategy" if self.draft.settings.over_workers else "MirroredStrategy"
        for node in self.draft.module.all_of(cst.Expr):
            call = node.value
            if not isinstance(call, cst.Call) or dotted(call.func).rpartition(".")[2] not in _PRINTS:
                continue
            for part in walk(call):
                if isinstance(part, cst.SimpleString) and _OLD.search(part.value):
                    yield Replace(part, _OLD.sub(strategy, part.value))
                elif isinstance(part, cst.FormattedString) and any(map(_speaks_of_it, part.parts)):
                    code = self.draft.module.code
                    texts = ((inner, code(inner)) for inner in part.parts)
                    parts = (_OLD.sub(strategy, text) if _speaks_of_it(inner) else text for inner, text in texts)
                    yield Replace(part, part.start + "".join(parts) + part.end)

    def _arms(self) -> Iterator[Collapse]:
        """Choices between the template and the parallel model, or where the template is, which may be none any more."""
        settled = {edit.unit for edit in self.blocks.edits}
        changed = {*(node for node, _ in self.merge.renamed), *settled, *(wrap.call for wrap in self.wraps)}
        for node in self.draft.module.all_of(cst.If, cst.IfExp) if changed else ():
            if node in settled or not is_pure(node.test):
                continue
            if changed.isdisjoint(walk(node)):
                continue
            if isinstance(node, cst.IfExp):
                arms: tuple[cst.CSTNode, ...] = (node.body, node.orelse)
            elif isinstance(node.orelse, cst.Else) and node in self.draft.module.places:
                arms = (node.body, node.orelse.body)
            else:
                continue
            if not arms[0].deep_equals(arms[1]):
                yield Collapse(node, isinstance(node, cst.If) and self._may_be_asked_later(node))

    def _may_be_asked_later(self, node: cst.If) -> bool:
        """Whether the test of an `if` is sure to say the same after any of the statements in its arms."""
        test = tuple(walk(node.test))
        if any(isinstance(part, cst.Call | cst.Subscript) for part in test):
            return False
        asked = {part.value for part in test if isinstance(part, cst.Name)}
        inside = {*walk(node.body), *(walk(node.orelse) if node.orelse is not None else ())}
        if any(binding.node in inside for name in asked for binding in self.draft.scopes.bindings(name)):
            return False
        for part in self.draft.module.all_of(cst.Global):
            if any(declared.name.value in asked for declared in part.names):
                return False
        held = {_root(part) for part in test} - {""}
        return not held or not any(_may_change(part, held, inside) for part in inside)


def _speaks_of_it(part: cst.BaseFormattedStringContent) -> bool:
    return isinstance(part, cst.FormattedStringText) and _OLD.search(part.value) is not None


def _may_change(part: cst.CSTNode, held: Container[str], inside: Iterable[cst.CSTNode]) -> bool:
    """Whether code sets an attribute of one of some objects, calls its methods, or hands it on."""
    if isinstance(part, cst.AssignTarget | cst.AugAssign | cst.Del):
        return any(_root(node) in held for node in walk(part))
    if isinstance(part, cst.Call):
        return _root(part.func) in held
    whole = isinstance(part, cst.Name) and part.value in held
    return whole and not any(isinstance(inner, cst.Attribute) and inner.value is part for inner in inside)


def _root(node: cst.CSTNode) -> str:
    """The name that an attribute is reached by."""
    root = root_name(node) if isinstance(node, cst.Attribute) else None
    return root.value if root is not None else ""


def _choice_of(wrap: Wrap) -> cst.IfExp | None:
    """The conditional of the wrap and its own template, where nothing is left to choose."""
    unit = wrap.site.unit
    if not isinstance(unit, cst.SimpleStatementLine | cst.SimpleStatementSuite) or wrap.template_node is None:
        return None
    for part in walk(unit):
        if isinstance(part, cst.IfExp) and wrap.call in (part.body, part.orelse):
            other = part.orelse if part.body is wrap.call else part.body
            return part if other.deep_equals(wrap.template_node) else None
    return None


@dataclass(frozen=True)
class _Leaving:
    """What goes from a program."""

    owners: tuple[Owner, ...]
    """Of the wraps."""
    repeated: tuple[tuple[Module, cst.Expr], ...]
    """compile() calls that say what another one says."""
    idle: tuple[IdleFunction, ...] = ()
    """Functions that only wrap."""

    @cached_property
    def placed(self) -> list[tuple[Owner, Wrap]]:
        """The wraps that go, those whose models are copied left out."""
        groups = [(owner, group) for owner in self.owners for group in owner.groups if not group.copied]
        return [(owner, wrap) for owner, group in groups for wrap in group.wraps]

    def modules(self) -> Iterable[Module]:
        """The modules that change with it."""
        wraps = [wrap for owner in self.owners for wrap in owner.wraps]
        calls = [call for function in self.idle for call in function.calls]
        places = [one.site.frame.module for one in (*wraps, *calls)]
        return dict.fromkeys((*places, *(module for module, _ in self.repeated)))

    def wraps_in(self, module: Module) -> tuple[Wrap, ...]:
        """One for each call."""
        by_call = {wrap.call: wrap for _, wrap in self.placed}
        return tuple(wrap for wrap in by_call.values() if wrap.site.frame.module is module)

    def calls_in(self, module: Module) -> tuple[Wrap, ...]:
        """The calls of functions that only wrap."""
        return tuple(call for function in self.idle for call in function.calls if call.site.frame.module is module)


def remains_of(
    owners: Iterable[Owner], refused: Container[cst.Call], facts: ProgramFacts, drafts: Mapping[Module, Draft]
) -> dict[Module, Remains]:
    """For each module with a wrap, what its statements become when all wraps of the owners go."""
    owners = tuple(owners)
    repeated = tuple(compiled_again((group for owner in owners for group in owner.groups), drafts))
    leaving = _Leaving(owners, repeated)
    remains = {module: _remains(drafts[module], leaving, refused, facts) for module in leaving.modules()}
    wraps = [wrap for left in remains.values() for wrap in left.wraps]
    idle = tuple(idle_functions(wraps, {module: left.blocks for module, left in remains.items()}, facts))
    if not idle:
        return remains
    leaving = replace(leaving, idle=idle)
    return {module: _remains(drafts[module], leaving, refused, facts) for module in leaving.modules()}


def _remains(draft: Draft, leaving: _Leaving, refused: Container[cst.Call], facts: ProgramFacts) -> Remains:
    module = draft.module
    wraps, calls = leaving.wraps_in(module), leaving.calls_in(module)
    own = (*wraps, *calls)
    merged = merge(module, draft.scopes, own, frozenset(name for source, name in facts.exported if source is module))
    replaced = superseded(draft.facts, draft.scopes, own, facts)
    imports = frozenset(_imports_of_the_name(draft, refused))
    superfluous = replaced.assignments | frozenset(_said_twice(own, leaving.repeated, module, imports))
    gone = frozenset((*merged.removed, *superfluous, *imports))
    strategies = dict(_deciding_strategies(module, leaving.placed, merged))
    blocks = Blocks(draft.facts, draft.scopes, own, gone, merged, strategies, replaced.blocks)
    functions = tuple(function.node for function in leaving.idle if function.module is module)
    return Remains(draft, wraps, merged, blocks, superfluous, calls, functions)


def _said_twice(
    wraps: Iterable[Wrap],
    repeated: Iterable[tuple[Module, cst.Expr]],
    module: Module,
    gone: Container[cst.BaseSmallStatement | None],
) -> Iterator[cst.BaseSmallStatement]:
    """The statements of a module that say nothing any more, or what their neighbour says; `gone`: others that go."""
    yield from (statement for where, statement in repeated if where is module)
    for wrap in wraps:
        said = _said_already(wrap, gone)
        yield from [said] if said is not None else []
        yield from _to_itself(wrap)


def _said_already(wrap: Wrap, gone: Container[cst.BaseSmallStatement | None]) -> cst.BaseSmallStatement | None:
    """The only statement left of a guard that says without the wrap what the line above says, `trained = model`, or
    what the line below does, `return model`."""
    module, unit = wrap.site.frame.module, wrap.site.unit
    place, statement = module.places[unit], only_statement(unit)
    guard = module.places.get(place.owner) if isinstance(place.owner, cst.If) and place.owner.orelse is None else None
    others = (other for other in units_of(place.block) if other is not unit)
    if guard is None or wrap.template_node is None or any(only_statement(other) not in gone for other in others):
        return None
    above, below = units_of(guard.block)[: guard.index], units_of(guard.block)[guard.index + 1 :]
    if isinstance(statement, cst.Assign) and statement is wrapped_assignment(wrap) and above:
        neighbour = only_statement(above[-1])
    elif isinstance(statement, cst.Return) and wrap.together is None and wrap.call in walk(statement) and below:
        neighbour = only_statement(below[0])
    else:
        return None
    plain = statement.deep_replace(wrap.call, wrap.template_node)
    return statement if neighbour is not None and plain.deep_equals(neighbour) else None


def _to_itself(wrap: Wrap) -> Iterator[cst.Assign]:
    """`model = model` in an arm of a guard, which says nothing once no arm wraps."""
    for guard in wrap.guards:
        if guard.frame is not wrap.site.frame or isinstance(getattr(guard.node, "orelse", None), cst.If):
            continue
        for unit in (unit for suite in suites_of(guard.node) for unit in units_of(suite)):
            small = only_statement(unit)
            targets = [dotted(target.target) for target in small.targets] if isinstance(small, cst.Assign) else []
            if isinstance(small, cst.Assign) and targets == [dotted(small.value) or None]:
                yield small


def _deciding_strategies(
    module: Module, placed: Iterable[tuple[Owner, Wrap]], merged: Merge
) -> Iterator[tuple[cst.CSTNode, str]]:
    """For each guard in a module the strategy of its wrap, as it is called there: a caller's is the model's own."""
    for owner, wrap in placed:
        for guard in wrap.guards:
            if guard.frame.module is not module:
                continue
            if (guard.frame.function or module.tree) is owner.function:
                yield guard.node, owner.name
            elif wrap.template_node is not None and dotted(wrap.template_node):
                yield guard.node, f"{merged.named(wrap.template_node)}.distribute_strategy"


def _imports_of_the_name(draft: Draft, refused: Container[cst.Call]) -> Iterator[cst.ImportFrom]:
    """Import statements that go because they import nothing else and every use in the module is migrated."""
    if any(wrap.call in refused for wrap in draft.facts.wraps):
        return
    wrapped_by = {dotted(wrap.call.func) for wrap in draft.facts.wraps}
    for statement, _ in draft.module.imports:
        imported = list(imports_of(statement))
        if isinstance(statement, cst.ImportFrom) and imported:
            if all(names.canonical(full) == names.MULTI_GPU_MODEL or own in wrapped_by for _, own, full in imported):
                yield statement
