"""Names and arguments that today's TensorFlow has no more, where nothing else was done about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.calls import Revision, keywords
from tfmigrate.plan.edits import Remove, Replace, Unwrap
from tfmigrate.plan.imports import import_statements
from tfmigrate.plan.interfaces import CallChange, Tables
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.program import imports_of
from tfmigrate.walk import walk


def names_that_are_gone(facts: Facts, tables: Tables, done: Sequence[CallChange]) -> Iterator[CallChange]:
    """A warning for each, at its use, or at its import where that alone already fails. `done`: the changes made."""
    vanished = set(taken_out(done))
    used: set[str] = set()
    for node, name in facts.symbols.items():
        found = _gone(name, tables)
        if found is None or node in vanished:
            continue
        if isinstance(node, cst.Attribute) and _gone(facts.symbols.get(node.value, ""), tables) is None:
            yield _told(node, name, found)
        elif isinstance(node, cst.Name):
            used.add(name)
    read = {name for node, name in facts.symbols.items() if isinstance(node, cst.Name)}
    for statement, _ in import_statements(facts.module):
        for _, _, full in imports_of(statement):
            found = _gone(full, tables)
            if found is not None and isinstance(statement, cst.ImportFrom) and (full in used or full not in read):
                yield _told(statement, full, found)
    yield from _methods(facts, tables, {change.node for change in done})
    yield from _arguments(facts, tables, vanished)


def _told(node: cst.CSTNode, name: str, advice: str) -> CallChange:
    return CallChange(codes.NAME_IS_GONE, node, f"{name} no longer exists in TensorFlow 2.16: {advice}", action="warn")


def _gone(name: str, tables: Tables) -> str | None:
    """The advice for a name that is gone, or for the module it stands in."""
    moved = tables.moves.moved(name) if name else ""
    parts = (names.canonical(moved) if names.flavour(moved) else moved).split(".")
    for end in range(len(parts), 0, -1):
        advice = tables.gone.get(".".join(parts[:end]))
        if advice is not None:
            return advice
    return None


def _methods(facts: Facts, tables: Tables, done: Set[cst.CSTNode]) -> Iterator[CallChange]:
    seen: set[cst.Call] = set()
    for use in facts.uses:
        own = any(model.instance is not None for model in use.models)
        advice = tables.gone.get(f"keras.models.Model.{use.method}")
        if use.models and not own and advice is not None and use.call not in seen | done:
            seen.add(use.call)
            yield _told(use.call, f"Model.{use.method}()", advice)


def _arguments(facts: Facts, tables: Tables, done: Set[cst.CSTNode]) -> Iterator[CallChange]:
    rows = {(row.of, row.old): row for row in tables.gone_arguments}
    calls = [(call, names.canonical(facts.symbols.get(call.func, ""))) for call in facts.module.calls]
    calls += list(dict.fromkeys((use.call, f"keras.models.Model.{use.method}") for use in facts.uses if use.models))
    for call, of in calls:
        for name, arg in keywords(call).items():
            row = rows.get((of, name))
            if row is not None and arg not in done:
                message = f"the argument `{name}` no longer exists: {row.new}"
                yield CallChange(codes.NAME_IS_GONE, arg, message, action="warn")


def taken_out(changes: Sequence[CallChange]) -> Iterator[cst.CSTNode]:
    """Every node inside what the changes take out or replace."""
    for change in changes:
        for edit in change.edits:
            if isinstance(edit, Unwrap):
                yield from walk(edit.unit)
            elif isinstance(edit, Remove):
                yield from walk(edit.node)
            elif isinstance(edit, Revision):
                yield from (arg for arg in edit.call.args if arg.keyword and arg.keyword.value in edit.dropped)
            elif isinstance(edit, Replace):
                kept = {node for _, part in edit.parts for node in walk(part)}
                yield from (node for node in walk(edit.node) if node not in kept)
