"""What stands beside the wrap in a migrated module and would keep it from running, or from training as before.

Each rule that decides is a module of one of the rooms below, with a function check(context), which is found there. One
that must see what the others do has check_last(context, others). Where two change the same argument or text, the later
one's change stands: AFTER in it names the modules that it comes after.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from operator import itemgetter
from pkgutil import iter_modules
from types import ModuleType

import libcst as cst

from tfmigrate.plan import data, keras, names
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, combined
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Edit, Insert, Replace, Unwrap
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.plan.names.fallbacks import answered
from tfmigrate.plan.names.imports import Moves
from tfmigrate.plan.names.readiness import missing_names
from tfmigrate.plan.names.tables import Tables
from tfmigrate.plan.names.unread import drop_idle, drop_numbers_of_gpus, drop_unread, unread_imports
from tfmigrate.plan.names.version_tests import only_for_tensorflow_1
from tfmigrate.plan.strategy.other_names import drop_other_names
from tfmigrate.understand.import_statements import imports_of
from tfmigrate.understand.module import Module
from tfmigrate.walk import walk

_ROOMS = (names, data, keras)


def plan_companions(
    draft: Draft, tables: Tables, migration: Migration, exported: Set[str]
) -> frozenset[cst.ImportAlias]:
    """Add the edits and findings of every selected companion rule; the imports come later, in plan_imports().

    Returns what the module imports and nothing reads.

    `exported`: names of this one that others import.
    """
    unread = frozenset(unread_imports(draft, exported))
    old, leaving = frozenset(only_for_tensorflow_1(draft.facts)), _Leaving.of(draft)
    is_answered = answered(draft.facts)
    changes = [
        change
        for change in _changes(Context(draft, tables, migration, unread))
        if change.node not in old
        and change.node not in leaving.removed_classes
        and not is_answered(change)
        # A rewrite of what leaves is one of what the migration carries elsewhere.
        and not (change.action == "warn" and leaving.holds(change.node))
    ]
    _make(changes, draft)
    drop_idle(draft)
    kinds = cst.FunctionDef if _may_be_read_elsewhere(draft.module) else cst.FunctionDef | cst.Module
    searched = [scope for node, scope in draft.scopes.by_node.items() if isinstance(node, kinds)]
    drop_unread(draft, searched, exported)
    drop_numbers_of_gpus(draft, searched, exported)
    drop_other_names(draft, exported)
    return unread


def _make(changes: Iterable[CallChange], draft: Draft) -> None:
    """Makes changes, and reports them."""
    edits: list[Edit] = []
    inserts: list[tuple[str, Insert]] = []
    revisions: list[Revision] = []
    for change in changes:
        if draft.change(change.code, change.node, change.message, action=change.action):
            revisions.extend(edit for edit in change.edits if isinstance(edit, Revision))
            inserts.extend((change.code, edit) for edit in change.edits if isinstance(edit, Insert))
            edits.extend(edit for edit in change.edits if not isinstance(edit, Revision | Insert))
    edits.extend(edit for _, edit in sorted(dict.fromkeys(inserts), key=itemgetter(0)))
    # Where two edits change one node, the one that the migration itself needs stands.
    draft.edits[:] = combined([*edits, *draft.edits], revisions)


@dataclass(frozen=True)
class _Leaving:
    """What the migration takes out of a module."""

    draft: Draft
    vanishing: Set[cst.CSTNode]
    gone: Set[cst.CSTNode]
    """Those in whose place nothing is written."""
    removed_whole: Set[cst.CSTNode]
    removed_classes: Set[cst.CSTNode]
    """Those of it in classes, of which nothing is written elsewhere."""

    @classmethod
    def of(cls, draft: Draft) -> _Leaving:
        vanishing = draft.vanishing()
        gone = vanishing - {edit.node for edit in draft.edits if isinstance(edit, Replace)}
        whole = list(_removed_whole(draft.edits))
        classes = (part for unit in whole if isinstance(unit, cst.ClassDef) for part in walk(unit))
        return cls(draft, vanishing, gone, frozenset(part for unit in whole for part in walk(unit)), frozenset(classes))

    def holds(self, node: cst.CSTNode) -> bool:
        """Whether a node leaves, or what it is about: a name that went with an Estimator, say."""
        return (
            node in self.removed_whole
            or any(part in self.gone for part in walk(node))
            or _is_dropped(self.draft, node, self.vanishing)
        )


def _removed_whole(edits: Iterable[Edit]) -> Iterator[cst.ClassDef | cst.FunctionDef]:
    """The classes and functions that go."""
    for edit in edits:
        if isinstance(edit, Unwrap) and edit.suite is None and isinstance(edit.unit, cst.ClassDef | cst.FunctionDef):
            yield edit.unit


def _is_dropped(draft: Draft, node: cst.CSTNode, vanishing: Set[cst.CSTNode]) -> bool:
    """Whether a node is an import of which nothing is read any more, and something was."""
    if not isinstance(node, cst.Import | cst.ImportFrom):
        return False
    bound = {name for _, name, _ in imports_of(node)}
    reads = [mention.node for name in bound for mention in draft.scopes.of_variable(name, draft.scopes.module)
             if not mention.binds]  # fmt: skip
    return bool(reads) and all(read in vanishing for read in reads)


def _may_be_read_elsewhere(module: Module) -> bool:
    """Whether variables of a module may have readers that are not seen: a notebook's next cell, unknown importers."""
    return bool(module.numbering.cells) or any(
        word in module.text for word in ("globals()", "__all__", "exec(", "eval(")
    )


def traps(draft: Draft, tables: Tables, migration: Migration) -> Iterator[CallChange]:
    """What stops a program on a strategy or changes its training, said and mended as in a migrated one.

    `tables`: of the rules that see this in new code too.
    """
    yield from _changes(Context(draft, tables, migration))


def plan_readiness(draft: Draft, tables: Tables, within: tuple[str, ...] = ("",)) -> None:
    """Report which names and keywords the target lacks in a module that needs nothing else.

    They are judged as they are written: nothing moves them. `within`: what the names in question begin with.
    """
    as_written = replace(tables, moves=Moves({}))
    for change in missing_names(draft.facts, draft.settings, as_written, within=within):
        draft.say(change.code, change.node, change.message, change.action)


def _changes(context: Context) -> list[CallChange]:
    """What the selected rules do and say."""
    changes: list[CallChange] = []
    for module in _rules():
        if hasattr(module, "check"):
            changes.extend(change for change in module.check(context) if change.code in context.tables.wanted)
    for module in _rules():
        if hasattr(module, "check_last"):
            changes.extend(module.check_last(context, tuple(changes)))
    return changes


@cache
def _rules() -> tuple[ModuleType, ...]:
    """Every module of the rooms, those first that name no others in AFTER."""
    names = [f"{room.__name__}.{module_info.name}" for room in _ROOMS for module_info in iter_modules(room.__path__)]
    modules = {name: import_module(name) for name in names}
    after = {name: getattr(module, "AFTER", ()) for name, module in modules.items()}
    return tuple(modules[name] for name in TopologicalSorter(after).static_order())
