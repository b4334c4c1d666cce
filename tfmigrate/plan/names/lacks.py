"""What a module uses and the target TensorFlow lacks: names, and keywords of calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import libcst as cst

from tfmigrate.importing import LIBRARIES
from tfmigrate.plan.change.calls import keywords
from tfmigrate.plan.names.parents import initialised
from tfmigrate.plan.names.tables import Tables
from tfmigrate.plan.names.target import Target
from tfmigrate.understand import names
from tfmigrate.understand.import_statements import imports_of
from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.stars import brought
from tfmigrate.understand.syntax import dotted, root_of
from tfmigrate.understand.values import (
    Literal,
    Made,
    ModelObject,
    ModuleValue,
    Parallel,
    StrategyObject,
    Symbol,
    Value,
    options,
)

_BASES = {"metric": "metrics.Metric", "optimizer": "optimizers.Optimizer"}
"""The class that all objects of a kind come from, whose members the index has."""


@dataclass(frozen=True)
class Lack:
    """A name that the target does not have, or a keyword that a callable of that name does not take."""

    node: cst.CSTNode
    written: str
    """The name in the source, its imports resolved."""
    name: str
    """The same after the rewrites of imports."""
    call: cst.Call | None = None
    keyword: str = ""
    known: tuple[str, ...] = ()
    """The keywords that it does take."""
    alias: cst.ImportAlias | None = None
    """What imports it, of a `from` import."""


class Reader:
    """Finds what a module uses that the target lacks."""

    def __init__(self, facts: Facts, tables: Tables, target: Target, within: tuple[str, ...]) -> None:
        self._facts, self._tables, self._target, self._within = facts, tables, target, within
        self._missing: dict[str, bool] = {}

    def lacks(self) -> Iterator[Lack]:
        yield from self._imports()
        yield from self._attributes()
        yield from self._through_stars()
        yield from self._methods()
        yield from self._members()
        yield from self._keywords()

    def _imports(self) -> Iterator[Lack]:
        for statement, _ in self._facts.module.imports:
            full: dict[str, cst.ImportAlias | None] = {}
            if isinstance(statement, cst.Import):
                full = {dotted(alias.name): None for alias in statement.names}
            elif isinstance(statement.names, cst.ImportStar):
                full = {dotted(statement.module): None} if not statement.relative else {}
            else:
                handed_on = self._facts.handed_on
                full = {handed_on.get(alias, name): alias for alias, _, name in imports_of(statement)}
            for name, alias in full.items():
                if self._lacking(name):
                    yield replace(self._lack(statement, name), alias=alias)

    def _attributes(self) -> Iterator[Lack]:
        """Names reached through an imported module: the whole of `tf.contrib.layers`, not each part of it."""
        attributes = [node for node in self._facts.symbols if isinstance(node, cst.Attribute)]
        inner = {node.value for node in attributes}
        for node in attributes:
            if node in inner:
                continue
            named = sorted(symbol.name for symbol in self._symbols(node))
            root = root_of(node)
            of_library = self._means_a_library(node if self._is_module(root) else root)
            if not self._fails_before(root) and of_library and all(map(self._lacking, named)):
                yield self._lack(node, named[0])

    def _through_stars(self) -> Iterator[Lack]:
        """Names that `from keras.layers import *` brought, here or in a module that this one star-imports."""
        sources = frozenset(self._facts.stars)
        statements = [statement for statement, _ in self._facts.module.imports] if sources else ()
        bound = {name for statement in statements for _, name, _ in imports_of(statement)}
        for node, full in self._facts.symbols.items() if sources else ():
            if isinstance(node, cst.Name) and node.value not in bound and self._lacking(full):
                if any(brought(source, node.value) == full for source in sources):
                    yield self._lack(node, full)

    def _fails_before(self, root: cst.CSTNode) -> bool:
        """Whether what a name stands for is lacking itself: where a handler imports something else, all of it."""
        imported = [symbol.name for symbol in self._symbols(root)] if root in self._facts.values else []
        return all(map(self._lacking, imported or [self._facts.symbols.get(root, "")]))

    def _symbols(self, node: cst.CSTNode) -> list[Symbol]:
        return [option for option in options(self._facts.values[node]) if isinstance(option, Symbol)]

    def _is_module(self, node: cst.CSTNode) -> bool:
        """Whether a name stands for a module of the program, which may have a library's names by a star import."""
        known = self._facts.options(node)
        return bool(known) and all(isinstance(option, ModuleValue) for option in known)

    def _means_a_library(self, node: cst.CSTNode) -> bool:
        """Whether a name stands for nothing but a library, or None where that is not installed."""
        known = self._facts.values.get(node)
        return known is not None and all(isinstance(option, Symbol | Literal) for option in options(known))

    def _methods(self) -> Iterator[Lack]:
        seen: set[cst.Call] = set()
        for use, candidates in self._model_calls():
            if use.call not in seen and all(self._lacking(name) for name in candidates):
                seen.add(use.call)
                had = next((name for name in candidates if self._target.was_in(name)), None)
                # A loaded model may be of a class of the program, with methods of its own.
                if had is not None or all(model.origin != "loaded" for model in use.models):
                    yield Lack(use.call, candidates[0], had or candidates[0])

    def _members(self) -> Iterator[Lack]:
        """What metrics, optimizers and strategies had in another version: `metric.reset_states()`."""
        for node in self._facts.module.all_of(cst.Attribute):
            classes = {self._class_of(option) for option in self._facts.options(node.value)}
            members = sorted(f"{name}.{node.attr.value}" for name in classes)
            if members and "" not in classes and all(map(self._is_lost, members)):
                yield self._lack(node, members[0])

    def _class_of(self, value: Value) -> str:
        """The class whose members an object has, if the index has them."""
        if isinstance(value, StrategyObject):
            return "tensorflow.distribute.Strategy"
        base = _BASES.get(value.kind, "") if isinstance(value, Made) else ""
        return f"{self._keras()}.{base}" if base else ""

    def _is_lost(self, member: str) -> bool:
        """Whether the class had a member, and has it no more. What the index has of a class is taken from its source
        with all it mentions, so that only the members count that the tables know."""
        known = names.canonical(member) in self._tables.gone
        return known and self._lacking(member) and bool(self._target.was_in(member))

    def _keywords(self) -> Iterator[Lack]:
        for call, candidates in self._calls().items():
            named = keywords(call)
            if not named:
                continue
            entries_of = {name: self._target.entries(self._tables.moves.moved(name)) for name in candidates}
            entries = [entry for of_name in entries_of.values() for entry in of_name]
            if not entries or any(entry.takes_any for entry in entries):
                continue
            known = tuple(dict.fromkeys(word for entry in entries for word in entry.keywords or ()))
            for keyword, arg in named.items():
                if keyword not in known:
                    name = next(name for name, of_name in entries_of.items() if of_name)
                    yield Lack(arg, name, self._tables.moves.moved(name), call, keyword, known)

    def _calls(self) -> dict[cst.Call, tuple[str, ...]]:
        """The calls of what libraries have, by the names that each may be of: functions and classes, initialisers of
        own classes, methods of models."""
        calls: dict[cst.Call, tuple[str, ...]] = {}
        for call in self._facts.module.calls:
            if call.func in self._facts.symbols and self._means_a_library(call.func):
                called = tuple(sorted(symbol.name for symbol in self._symbols(call.func)))
                if all(map(self._is_asked_for, called)):
                    calls[call] = called
        for call, base in initialised(self._facts):
            name = self._facts.symbols[base]
            if self._is_asked_for(name) and self._means_a_library(base):
                calls[call] = (name,)
        for use, methods in self._model_calls():
            if methods[0].startswith(self._within):
                calls.setdefault(use.call, methods)
        return calls

    def _is_asked_for(self, name: str) -> bool:
        """Whether a name is one of a library, of those in question."""
        return name.split(".", 1)[0] in LIBRARIES and name.startswith(self._within)

    def _model_calls(self) -> Iterator[tuple[Use, tuple[str, ...]]]:
        """Methods called on nothing but models of Keras's own classes, and their names in either class. A function may
        be called with a model here, and with something else there."""
        keras = self._keras()
        for use in self._facts.uses:
            func = use.call.func
            elsewhere = self._facts.options(func.value) if isinstance(func, cst.Attribute) else ()
            receivers = {*options(use.receiver), *elsewhere}
            models = [receiver for receiver in receivers if isinstance(receiver, Parallel | ModelObject)]
            if receivers and len(models) == len(receivers) and all(model.instance is None for model in use.models):
                yield use, tuple(f"{keras}.{name}.{use.method}" for name in ("Model", "Sequential"))

    def _keras(self) -> str:
        """The package that models of this module come from."""
        moved = map(self._tables.moves.moved, set(self._facts.symbols.values()))
        flavours = {name.split(".", 1)[0] for name in moved if names.flavour(name)}
        return flavours.pop() if flavours in ({"keras"}, {"tf_keras"}) else "tensorflow.keras"

    def _lack(self, node: cst.CSTNode, written: str) -> Lack:
        return Lack(node, written, self._tables.moves.imported(written))

    def _lacking(self, written: str) -> bool:
        known = self._missing.get(written)
        if known is None:
            known = self._is_asked_for(written)
            known = known and names.canonical(written) != names.MULTI_GPU_MODEL
            known = known and self._target.missing(self._tables.moves.imported(written)) is not None
            self._missing[written] = known
        return known
