"""`tf.compat.v1.disable_eager_execution()`: Keras 3 trains with eager execution alone."""

from __future__ import annotations

from collections.abc import Iterator, Set

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.removal import without
from tfmigrate.plan.keras.fed_operations import fed_operations
from tfmigrate.plan.keras.sessions import session_lines
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.plan.names.eager_switches import turns_eager
from tfmigrate.understand import names
from tfmigrate.understand.blocks import only_statement
from tfmigrate.understand.module import Module
from tfmigrate.walk import walk

_OF_GRAPHS = frozenset(
    {
        "keras.backend.get_session", "keras.backend.placeholder", "tensorflow.InteractiveSession", "tensorflow.Session",
        "tensorflow.get_default_session", "tensorflow.global_variables_initializer", "tensorflow.placeholder",
        "tensorflow.placeholder_with_default", "tensorflow.train.MonitoredTrainingSession", "tensorflow.train.Saver",
    }
)  # fmt: skip


def check(context: Context) -> Iterator[CallChange]:
    """The call is removed, where the migrated program has nothing left that needs a graph."""
    for unit in context.facts.module.places:
        small = only_statement(unit)
        call = small.value if isinstance(small, cst.Expr) else None
        if not isinstance(call, cst.Call) or small is None:
            continue
        symbol = context.facts.canonical(call.func)
        if turns_eager(symbol) != "off":
            continue
        name = symbol.rpartition(".")[2]
        fails = f"Keras 3 only trains with eager execution: after {name}(), fit() raises RuntimeError"
        needing = context.migration.once(_first_of_graphs)
        if needing is None:
            message = f"{fails}; it is removed, and Keras itself compiles its steps into graphs"
            yield CallChange(codes.EAGER_EXECUTION, call, message, without(small, context.facts.module))
        else:
            module, node = needing
            where = module.place(node, context.facts.module)
            message = f"{fails}; remove it, and with it `{module.code(node)}` ({where}), which needs a graph"
            yield CallChange(codes.EAGER_EXECUTION, call, message, action="warn")


def _first_of_graphs(migration: Migration) -> tuple[Module, cst.CSTNode] | None:
    """The first thing that still needs a graph once the program is migrated."""
    gone = _gone(migration)
    for module, facts in migration.facts.modules.items():
        for node in module.all_of(cst.Name, cst.Attribute):
            if node not in gone and names.plain(facts.canonical(node)) in _OF_GRAPHS:
                return module, node
    return None


def _gone(migration: Migration) -> Set[cst.CSTNode]:
    """The nodes that are removed: of operations that become functions, and of sessions that only carry settings."""
    modules = migration.facts.modules
    gone = {node for changes in fed_operations(migration).values() for change in changes for node in walk(change.node)}
    for draft in migration.drafts.values():
        gone.update(node for unit in session_lines(draft, modules).lines for node in walk(unit))
    return gone
