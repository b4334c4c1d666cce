"""Names and keywords that the target TensorFlow does not have, from the index of public names."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace

import libcst as cst

from tfmigrate.importing import LIBRARIES
from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, keywords
from tfmigrate.plan.edits import Arguments, Remove, Replace, Unwrap
from tfmigrate.plan.names.context import Context
from tfmigrate.plan.names.parents import initialised
from tfmigrate.plan.names.public_names import public_names
from tfmigrate.plan.names.tables import Tables
from tfmigrate.plan.names.target import LEGACY_KERAS, Target
from tfmigrate.settings import NAMES, Settings
from tfmigrate.understand import names
from tfmigrate.understand.guarded import guarded
from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.program import dotted, import_statements, imports_of, root_of
from tfmigrate.understand.values import Literal, Made, ModelObject, Parallel, StrategyObject, Symbol, Value, options
from tfmigrate.walk import walk

_BASES = {"metric": "metrics.Metric", "optimizer": "optimizers.Optimizer"}
"""The class that all objects of a kind come from, whose members the index has."""


def check_last(context: Context, others: Sequence[CallChange]) -> Iterator[CallChange]:
    if any(code.startswith(NAMES) for code in context.tables.wanted):
        yield from missing_names(context.facts, context.settings, context.tables, others, context.unread)


def missing_names(
    facts: Facts,
    settings: Settings,
    tables: Tables,
    done: Sequence[CallChange] = (),
    unread: Set[cst.ImportAlias] = frozenset(),
    within: tuple[str, ...] = ("",),
) -> Iterator[CallChange]:
    """A warning for each name, at its import where that alone already fails, and for each keyword.

    `done`: the changes made, which leave nothing to say about what they take out. What a test of the version or of the
    name itself guards is left alone, and so is a name that the module sets.
    `unread`: names that are imported and never read; of these an import that fails goes.
    `within`: what the names in question begin with.
    """
    target = Target(public_names(), settings.target, LEGACY_KERAS in facts.module.text)
    lacks = list(_Reader(facts, tables, target, within).lacks())
    if lacks:
        excused = _Excused(facts, done)
        phrases = _Phrases(tables, target)
        for lack in lacks:
            if not excused.covers(lack):
                finding = phrases.told(lack)
                yield _without_import(finding, lack.alias) if lack.alias in unread else finding


def _without_import(change: CallChange, alias: cst.ImportAlias | None) -> CallChange:
    assert alias is not None
    message = f"{change.message.partition(': ')[0]}, and nothing here uses it: its import is removed"
    return replace(change, message=message, action="rewrite", edit=Remove(alias))


@dataclass(frozen=True)
class _Lack:
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


class _Reader:
    """Finds what a module uses that the target lacks."""

    def __init__(self, facts: Facts, tables: Tables, target: Target, within: tuple[str, ...]) -> None:
        self._facts, self._tables, self._target, self._within = facts, tables, target, within
        self._missing: dict[str, bool] = {}

    def lacks(self) -> Iterator[_Lack]:
        yield from self._imports()
        yield from self._attributes()
        yield from self._methods()
        yield from self._members()
        yield from self._keywords()

    def _imports(self) -> Iterator[_Lack]:
        for statement, _ in import_statements(self._facts.module):
            full: dict[str, cst.ImportAlias | None] = {}
            if isinstance(statement, cst.Import):
                full = {dotted(alias.name): None for alias in statement.names}
            elif isinstance(statement.names, cst.ImportStar):
                full = {dotted(statement.module): None} if not statement.relative else {}
            else:
                full = {name: alias for alias, _, name in imports_of(statement)}
            for name, alias in full.items():
                if self._lacking(name):
                    yield replace(self._lack(statement, name), alias=alias)

    def _attributes(self) -> Iterator[_Lack]:
        """Names reached through an imported module: the whole of `tf.contrib.layers`, not each part of it."""
        attributes = [node for node in self._facts.symbols if isinstance(node, cst.Attribute)]
        inner = {node.value for node in attributes}
        for node in attributes:
            if node in inner:
                continue
            named = sorted(symbol.name for symbol in self._symbols(node))
            root = root_of(node)
            failed_before = self._lacking(self._facts.symbols.get(root, ""))
            if not failed_before and self._means_a_library(root) and all(map(self._lacking, named)):
                yield self._lack(node, named[0])

    def _symbols(self, node: cst.BaseExpression) -> list[Symbol]:
        return [option for option in options(self._facts.values[node]) if isinstance(option, Symbol)]

    def _means_a_library(self, node: cst.CSTNode) -> bool:
        """Whether a name stands for nothing but a library, or None where that is not installed."""
        known = self._facts.values.get(node)
        return known is not None and all(isinstance(option, Symbol | Literal) for option in options(known))

    def _methods(self) -> Iterator[_Lack]:
        seen: set[cst.Call] = set()
        for use, candidates in self._model_calls():
            if use.call not in seen and all(self._lacking(name) for name in candidates):
                seen.add(use.call)
                had = next((name for name in candidates if self._target.was_in(name)), None)
                # A loaded model may be of a class of the program, with methods of its own.
                if had is not None or all(model.origin != "loaded" for model in use.models):
                    yield _Lack(use.call, candidates[0], had or candidates[0])

    def _members(self) -> Iterator[_Lack]:
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

    def _keywords(self) -> Iterator[_Lack]:
        calls: dict[cst.Call, tuple[str, ...]] = {}
        for call in self._facts.module.calls:
            if call.func in self._facts.symbols and self._means_a_library(call.func):
                called = tuple(sorted(symbol.name for symbol in self._symbols(call.func)))
                if all(name.split(".", 1)[0] in LIBRARIES and name.startswith(self._within) for name in called):
                    calls[call] = called
        for call, base in initialised(self._facts):
            name = self._facts.symbols[base]
            if name.split(".", 1)[0] in LIBRARIES and name.startswith(self._within) and self._means_a_library(base):
                calls[call] = (name,)
        for use, methods in self._model_calls():
            if methods[0].startswith(self._within):
                calls.setdefault(use.call, methods)
        for call, candidates in calls.items():
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
                    yield _Lack(arg, name, self._tables.moves.moved(name), call, keyword, known)

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

    def _lack(self, node: cst.CSTNode, written: str) -> _Lack:
        return _Lack(node, written, self._tables.moves.imported(written))

    def _lacking(self, written: str) -> bool:
        known = self._missing.get(written)
        if known is None:
            known = written.split(".", 1)[0] in LIBRARIES and written.startswith(self._within)
            known = known and names.canonical(written) != names.MULTI_GPU_MODEL
            known = known and self._target.missing(self._tables.moves.imported(written)) is not None
            self._missing[written] = known
        return known


class _Excused:
    """What is not reported: what asks first, what the module sets itself, and what another rule did or reported."""

    def __init__(self, facts: Facts, done: Sequence[CallChange]) -> None:
        self._facts = facts
        told = (node for change in done for node in (change.node, *change.speaks_for))
        self._done = {*taken_out(done), *told}
        self._nodes = {*guarded(facts.module), *self._done}
        self._keywords: set[tuple[cst.Call, str]] = set()
        for edit in (edit for change in done for edit in change.edits):
            if isinstance(edit, Revision):
                changed = (*(old for old, _ in edit.renamed), *edit.dropped, *(name for name, _ in edit.set))
                self._keywords.update((edit.call, name) for name in changed)
            elif isinstance(edit, Arguments):
                self._keywords.update((edit.call, name) for name in keywords(edit.call))
                if edit.method:
                    self._nodes.add(edit.call.func)
        self._set = frozenset(self._assigned())

    def covers(self, lack: _Lack) -> bool:
        if lack.node in self._nodes:
            return True
        if lack.call is not None:
            return lack.call.func in self._nodes or (lack.call, lack.keyword) in self._keywords
        if isinstance(lack.node, cst.Call):
            return lack.node.func in self._nodes or f".{lack.name.rpartition('.')[2]}" in self._set
        if isinstance(lack.node, cst.Import | cst.ImportFrom):
            symbols = self._facts.symbols.items()
            reads = [node for node, full in symbols if full == lack.written and isinstance(node, cst.Name)]
            if reads and all(node in self._done for node in reads):  # and so the import goes
                return True
        return any(lack.written == own or lack.written.startswith(f"{own}.") for own in self._set)

    def _assigned(self) -> Iterator[str]:
        """Names of a library that the module sets, as `tf.foo = ...` and setattr do; ".foo" for any other object."""
        for unit in self._facts.module.places:
            for small in unit.body if isinstance(unit, cst.SimpleStatementLine | cst.SimpleStatementSuite) else ():
                for target in small.targets if isinstance(small, cst.Assign) else ():
                    if isinstance(target.target, cst.Attribute):
                        yield f"{self._facts.symbols.get(target.target.value, '')}.{target.target.attr.value}"
                call = small.value if isinstance(small, cst.Expr) else None
                if isinstance(call, cst.Call) and dotted(call.func) == "setattr" and call.args:
                    yield self._facts.symbols.get(call.args[0].value, "setattr")


class _Phrases:
    """Says what is lacking, in which versions it was, and what stands in its place."""

    def __init__(self, tables: Tables, target: Target) -> None:
        self._tables, self._target = tables, target

    def told(self, lack: _Lack) -> CallChange:
        return self._keyword(lack) if lack.call is not None else self._name(lack)

    def _name(self, lack: _Lack) -> CallChange:
        missing = self._target.missing(lack.name) or lack.name
        advice = self._advice(lack.written) or self._advice(lack.name)
        was = self._target.was_in(missing, lack.written.rsplit(".", lack.name.count(".") - missing.count("."))[0])
        if was:
            new = self._target.renamed(lack.name)
            text = f"{missing} is not in {self._target.title(missing)} (it was in {was})"
            advice = advice or (f"it is {new}" if new else "")
        else:
            text = f"{missing} is in no {self._target.span(missing)}"
        if not advice:
            near = self._nearest(lack.name, missing)
            advice = f"did you mean {near}?" if near else ""
        code = codes.NAME_IS_GONE if was else codes.NO_SUCH_NAME
        return CallChange(code, lack.node, f"{text}: {advice}" if advice else text, action="warn")

    def _nearest(self, name: str, missing: str) -> str | None:
        """Where the name stands, or one spelt like it; else, where a module that it is in is missing, one like that."""
        near = self._target.nearest(name)
        if near is None and name.count(".") > missing.count("."):
            module = self._target.nearest(missing)
            beside = module is not None and module.rpartition(".")[0] == missing.rpartition(".")[0]
            near = module if beside else None
        return near

    def _advice(self, name: str) -> str:
        """What the tables say about a name, or about the module it stands in."""
        parts = (names.canonical(name) if names.flavour(name) else name).split(".")
        heads = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
        return next((self._tables.gone[head] for head in heads if head in self._tables.gone), "")

    def _keyword(self, lack: _Lack) -> CallChange:
        of = names.canonical(lack.name)
        rows = [*self._tables.gone_arguments, *self._tables.arguments]
        ofs = (of, "keras.optimizers") if names.is_optimizer(of) else (of,)
        row = next((row for row in rows if row.old == lack.keyword and row.of in ofs and row.new), None)
        took = self._target.took_in(lack.name, lack.keyword)
        text = f"{_called(lack.name)}() takes no argument `{lack.keyword}` in {self._target.title(lack.name)}"
        if took:
            text += f" (it did in {took})"
        near = difflib.get_close_matches(lack.keyword, lack.known, n=1, cutoff=0.7)
        if row is not None:
            text += f": it is `{row.new}`" if row.kind == "argument" else f": {row.new}"
        elif near:
            text += f"; did you mean `{near[0]}`?"
        return CallChange(codes.NAME_IS_GONE if took else codes.UNKNOWN_KEYWORD, lack.node, text, action="warn")


def _called(name: str) -> str:
    """`Model.fit` for a method, the whole name for anything else."""
    parts = name.split(".")
    return ".".join(parts[-2:]) if len(parts) > 2 and parts[-2] in ("Model", "Sequential") else name


def taken_out(changes: Sequence[CallChange]) -> Iterator[cst.CSTNode]:
    """Every node inside what the changes take out or replace."""
    for change in changes:
        for edit in change.edits:
            if isinstance(edit, Unwrap):
                kept = set(walk(edit.suite)) if edit.suite is not None else set()
                yield from (node for node in walk(edit.unit) if node not in kept)
            elif isinstance(edit, Remove):
                yield from walk(edit.node)
            elif isinstance(edit, Revision):
                yield from (arg for arg in edit.call.args if arg.keyword and arg.keyword.value in edit.dropped)
            elif isinstance(edit, Arguments) and edit.function is not None:
                yield from walk(edit.call.func)
            elif isinstance(edit, Replace):
                parts = {node for part in edit.parts for node in walk(part)}
                yield from (node for node in walk(edit.node) if node not in parts)
