"""Strategies that nothing enters: what is built and trained beside them runs on one device.

Measured with two replicas on TensorFlow 2.9 (Keras 2) and 2.21 (Keras 2 and 3): a model that is built, compiled and
trained outside every scope has the default strategy and one replica, without an error or a warning.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.on_strategy.outside import Outside, sites_of
from tfmigrate.plan.on_strategy.scoping import SYNCHRONOUS, Scoping, is_conditional
from tfmigrate.understand.blocks import only_statement, units_of
from tfmigrate.understand.lifecycle import ProgramFacts, Use
from tfmigrate.understand.module import Module
from tfmigrate.understand.syntax import attribute_of, last_attribute, sole_target
from tfmigrate.understand.values import Dataset, Frame, ModelObject, Site, StrategyObject
from tfmigrate.walk import calls_in, walk

_COUNT = "num_replicas_in_sync"
_TALKS = frozenset({"print", "info", "debug", "warning", "log", "format"})
"""What writes something down: print, and the methods of loggers."""


def left_idle(facts: ProgramFacts, drafts: Mapping[Module, Draft], apart: Container[ModelObject]) -> Iterator[Outside]:
    """The models trained beside a strategy that the program makes and does nothing else with.

    `apart`: models that are not asked about. Unknown counts as a use: a strategy that is passed on, kept in an object,
    imported elsewhere, or made under a condition is not idle.
    """
    strategy = _idle_strategy(facts, drafts)
    if strategy is None:
        return
    idle = frozenset((strategy,))
    scoping = Scoping(facts)
    for use in facts.uses:
        if use.method != "fit" or not use.models or any(model in apart for model in use.models):
            continue
        sites = _parts_of(use, facts)
        if all(scoping.outside(site, idle) for site in (*sites, use.site)) and _is_made_before(strategy, use):
            first = min((model.site for model in use.models), key=lambda site: site.frame.module.order[site.unit])
            here = strategy.site.frame.module
            made_at, trained = here.place(strategy.node, here), use.place(use.site.frame.module)
            message = (
                f"nothing is built in the scope of the strategy at {made_at}: this model trains ({trained}) on one "
                "device, with the batch size meant for all of them"
            )
            yield Outside(codes.IDLE_STRATEGY, message, first, sites, idle, use)


def is_all_idle(facts: ProgramFacts, drafts: Mapping[Module, Draft], prefixes: tuple[str, ...]) -> bool:
    """Whether all that a program does with strategies is to make one that no model is trained beside.

    `prefixes`: what the names of strategies begin with.
    """
    strategy = _idle_strategy(facts, drafts)
    if strategy is None or any(left_idle(facts, drafts, frozenset())):
        return False
    making = {*walk(strategy.node)}
    return not any(
        name.startswith(prefixes) and node not in making
        for known in facts.modules.values()
        for node, name in known.symbols.items()
    )


def _idle_strategy(facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> StrategyObject | None:
    """The one strategy that the program makes, if it does nothing else with it."""
    idle = [made for made in facts.strategies if made.name in SYNCHRONOUS and _is_idle(made, facts, drafts)]
    return idle[0] if len(idle) == 1 and len({made.node for made in facts.strategies}) == 1 else None


def _parts_of(use: Use, facts: ProgramFacts) -> frozenset[Site]:
    """Where the models of a use are made, and compiled, with all that belongs to that."""
    compiles = [other for other in facts.uses if other.method == "compile" and other.models & use.models]
    compiled = (site for other in compiles for site in (other.site, *other.parts))
    return frozenset().union(*(sites_of(model) for model in use.models), compiled)


def _is_made_before(strategy: StrategyObject, use: Use) -> bool:
    """Whether the strategy is there when a model is trained."""
    for site in use.site.chain():
        maker = strategy.site.lifted(site.frame)
        if maker is not None:
            return site.frame.module.order[maker.unit] < site.frame.module.order[site.unit]
    return False


def _is_idle(strategy: StrategyObject, facts: ProgramFacts, drafts: Mapping[Module, Draft]) -> bool:
    """Whether every mention of a strategy is known and enters no scope that holds anything."""
    module, frame = strategy.site.frame.module, strategy.site.frame
    small = only_statement(strategy.site.unit)
    if not isinstance(small, cst.Assign) or small.value is not strategy.node:
        return False
    name = sole_target(small)
    if not isinstance(name, cst.Name) or is_conditional(strategy) or any(map(_is_test, frame.chain())):
        return False
    draft = drafts[module]
    scope = draft.scope_of(frame)
    if name.value in scope.elsewhere or (scope.node is module.tree and _is_read_elsewhere(module, name.value, facts)):
        return False
    mentions = draft.scopes.of_variable(name.value, scope)
    harmless = {name, *_harmless(draft, name.value)}
    return all(mention.node in harmless for mention in mentions)


def _is_test(frame: Frame) -> bool:
    """Whether a function is a test, as pytest and unittest find them: it may try out just what is reported here."""
    return isinstance(frame.function, cst.FunctionDef) and frame.function.name.value.startswith("test")


def _is_read_elsewhere(module: Module, name: str, facts: ProgramFacts) -> bool:
    """Whether another module may read a variable of this one."""
    return (module, name) in facts.exported or any(
        node.attr.value == name
        for other in facts.modules
        if (other, module) in facts.imports
        for node in other.all_of(cst.Attribute)
    )


def _harmless(draft: Draft, name: str) -> Iterator[cst.Name]:
    """The mentions of a name that use no strategy: the number of its replicas, where that is written down or makes up
    a batch, and scopes in which nothing is made."""
    for node in draft.module.all_of(cst.With, cst.BinaryOperation, cst.Call):
        if isinstance(node, cst.With) and _is_empty(node, draft):
            for item in node.items:
                call = item.item
                if isinstance(call, cst.Call) and item.asname is None and attribute_of(name, call.func) == "scope":
                    yield call.func.value  # type: ignore[attr-defined]
        elif isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Multiply):
            for side in (node.left, node.right):
                if attribute_of(name, side) == _COUNT:
                    yield side.value  # type: ignore[attr-defined]
        elif isinstance(node, cst.Call) and _talks(node):
            for part in walk(node):
                if attribute_of(name, part) == _COUNT:
                    yield part.value  # type: ignore[attr-defined]


def _is_empty(block: cst.With, draft: Draft) -> bool:
    """Whether nothing is made in a block that a model needs: only names are bound, data read, or something printed."""
    calls = [part for unit in units_of(block.body) for part in calls_in(unit)]
    return all(_talks(call) or _makes_data(call, draft) for call in calls)


def _makes_data(call: cst.Call, draft: Draft) -> bool:
    values = draft.facts.options(call)
    symbol = draft.facts.called(call)
    return symbol.startswith("tensorflow.data.") or (
        bool(values) and all(isinstance(option, Dataset) for option in values)
    )


def _talks(call: cst.Call) -> bool:
    func = call.func
    return (isinstance(func, cst.Name) and func.value == "print") or (last_attribute(func) in _TALKS)
