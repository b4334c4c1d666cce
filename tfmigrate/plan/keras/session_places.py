"""Sessions that may carry nothing but settings: those given to `set_session()`, and those that nothing reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TypeGuard

import libcst as cst

from tfmigrate.plan.change.calls import has_stars
from tfmigrate.plan.keras.initializer_runs import Runs, idle_run
from tfmigrate.understand import names
from tfmigrate.understand.blocks import only_statement
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.scopes import Occurrence, Scopes
from tfmigrate.understand.syntax import dotted

SET_SESSION = "keras.backend.set_session"


@dataclass(frozen=True)
class Session:
    """A session and the line that it serves."""

    call: cst.Call
    """Of set_session(), or of the session itself where nothing takes it."""
    unit: cst.SimpleStatementLine
    made: cst.BaseExpression | None
    """What gives the session; None where set_session() is called otherwise than with one."""
    gone: tuple[cst.BaseSmallStatement, ...] = ()
    """Where a function returns a session that no caller takes, and what runs initializers in it."""


def sessions_of(facts: Facts, scopes: Scopes, modules: Iterable[Module], runs: Runs) -> Iterator[Session]:
    """The sessions of a module that may be nothing but settings."""
    yield from _set_sessions(facts)
    yield from _Dropped(facts, scopes, modules, runs).sessions()


def _set_sessions(facts: Facts) -> Iterator[Session]:
    for unit in facts.module.places:
        small = only_statement(unit)
        call = small.value if isinstance(small, cst.Expr) else None
        if isinstance(unit, cst.SimpleStatementLine) and isinstance(call, cst.Call):
            if symbol_of(call.func, facts) == SET_SESSION:
                alone = len(call.args) == 1 and not has_stars(call)
                yield Session(call, unit, call.args[0].value if alone else None)


@dataclass(frozen=True, eq=False)
class _Dropped:
    """`session = tf.Session(config=config)` that nothing reads: the first session of a process sets up its GPUs."""

    facts: Facts
    scopes: Scopes
    modules: Iterable[Module]
    runs: Runs

    def sessions(self) -> Iterator[Session]:
        for unit in self.facts.module.places:
            small = only_statement(unit)
            call = small.value if isinstance(small, cst.Assign | cst.Expr) else None
            if not isinstance(unit, cst.SimpleStatementLine) or not isinstance(call, cst.Call) or not call.args:
                continue
            if symbol_of(call.func, self.facts) == "tensorflow.Session":
                gone = self._gone_with(small, unit) if isinstance(small, cst.Assign) else ()
                if gone is not None:
                    yield Session(call, unit, call, gone)

    def _gone_with(self, made: cst.Assign, unit: cst.SimpleStatementLine) -> tuple[cst.BaseSmallStatement, ...] | None:
        """What returns an assigned session to no caller that takes it, and runs initializers in it; None where anything
        else reads it."""
        target = made.targets[0].target
        function = self.facts.module.function_round(unit)
        scope = self.scopes.by_node[function] if function is not None else self.scopes.module
        if len(made.targets) > 1 or not isinstance(target, cst.Name):
            return None
        mentions = [mention for mention in self.scopes.of_variable(target.value, scope) if mention.node is not target]
        known = [(mention, self._idle(mention)) for mention in mentions]
        reads = [mention for mention, idle in known if idle is None]
        returns = tuple(small for read in reads if _returns_one(small := only_statement(read.unit), reads))
        if len(returns) != len(reads) or any(read.binds or read.scope is not scope for read in reads):
            return None
        if not self._stays_inside(target.value, function, bool(returns)):
            return None
        return (*returns, *(small for _, idle in known for small in idle or ()))

    def _idle(self, mention: Occurrence) -> Sequence[cst.BaseSmallStatement] | None:
        """The statements that only run initializers in a session, or close it."""
        run, closed = idle_run(mention, self.runs), closing(mention)
        if run is not None:
            return run.statements
        return (closed,) if closed is not None else None

    def _stays_inside(self, name: str, function: cst.FunctionDef | None, is_returned: bool) -> bool:
        """Whether no code but that of the function, or of the module, has a session that it calls by this name."""
        if function is None:
            return not is_mentioned(name, self.modules, self.facts.module)
        return not is_returned or _result_is_dropped(function, self.modules)


def is_mentioned(name: str, modules: Iterable[Module], own: Module) -> bool:
    """Whether another module mentions a name that it may have from this one."""
    others = [module for module in modules if module is not own]
    path = PurePath(own.path)
    title = path.parent.name if path.stem == "__init__" else path.stem
    if not any(_may_import(title, module) for module in others):
        return False
    named = (module for module in others if name in module.text)
    return any(node.value == name for module in named for node in module.all_of(cst.Name))


def _may_import(title: str, module: Module) -> bool:
    """Whether an import statement of a module may mean the module of this name, or something in it."""
    for statement, _ in module.imports:
        aliases = statement.names if not isinstance(statement.names, cst.ImportStar) else ()
        source = dotted(statement.module) if isinstance(statement, cst.ImportFrom) else ""
        if any(title in text.split(".") for text in (source, *(dotted(alias.name) for alias in aliases))):
            return True
    return False


def _returns_one(small: cst.CSTNode | None, reads: Sequence[Occurrence]) -> TypeGuard[cst.Return]:
    """Whether a statement returns what one of the reads names, and nothing else."""
    return isinstance(small, cst.Return) and any(small.value is read.node for read in reads)


def _result_is_dropped(function: cst.FunctionDef, modules: Iterable[Module]) -> bool:
    """Whether a function is called, each time as a statement, and nothing else mentions its name."""
    called = 0
    for module in modules:
        calls = {small.value for small in map(only_statement, module.places) if isinstance(small, cst.Expr)}
        ends = {_last_name(call.func) for call in calls if isinstance(call, cst.Call)}
        imported = {alias.name for alias in module.all_of(cst.ImportAlias)}
        for node in module.all_of(cst.Name):
            if node.value == function.name.value and node is not function.name:
                if node in ends:
                    called += 1
                elif node not in imported:
                    return False
    return called > 0


def _last_name(node: cst.BaseExpression) -> cst.CSTNode:
    return node.attr if isinstance(node, cst.Attribute) else node


def symbol_of(node: cst.BaseExpression, facts: Facts) -> str:
    """The qualified name, `tf.compat.v1.Session` and `K.tf.Session` as `tf.Session`."""
    return names.plain(facts.canonical(node))


def closing(read: Occurrence) -> cst.Expr | None:
    """`session.close()`, which goes with the session."""
    small = only_statement(read.unit)
    call = small.value if isinstance(small, cst.Expr) else None
    func = call.func if isinstance(call, cst.Call) and not call.args else None
    closes = isinstance(func, cst.Attribute) and func.value is read.node and func.attr.value == "close"
    return small if closes and isinstance(small, cst.Expr) else None
