"""Which modules one run loads: files that share a module may be scripts of their own."""

from __future__ import annotations

from collections.abc import Mapping, Set

import libcst as cst

from tfmigrate.plan.names.context import Migration
from tfmigrate.understand.blocks import units_of
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.walk import walk

_LOADERS = frozenset({"importlib", "imp", "runpy", "pkgutil"})
"""Modules of the standard library that load others by a name or a path."""


def imported_by(migration: Migration) -> Mapping[Module, Set[Module]]:
    """For each module the modules that importing it loads: itself, and what it imports directly or through others."""
    return {module: frozenset(_reached(module, migration)) for module in migration.facts.modules}


def loaded_with(migration: Migration) -> Mapping[Module, Set[Module]]:
    """For each module the modules that may be loaded in the same run, itself among them.

    Only scripts that never import each other are known to run separately. A module that is neither imported nor run as
    a script may be loaded by any of them.
    """
    modules, imported = migration.facts.modules, migration.once(imported_by)
    if any(map(_loads_by_name, modules.values())):
        return dict.fromkeys(modules, frozenset(modules))
    importers = {module: {other for other in modules if module in imported[other]} for module in modules}
    scripts = _scripts(migration)
    first = [module for module in modules if importers[module] <= imported[module]]
    unsure = frozenset[Module]().union(*(imported[module] for module in first if module not in scripts))
    return {
        module: frozenset(modules)
        if module in unsure
        else unsure.union(*(imported[start] for start in first if module in imported[start]))
        for module in modules
    }


def _reached(module: Module, migration: Migration) -> set[Module]:
    pending, reached = [module], set[Module]()
    while pending:
        importing = pending.pop()
        if importing not in reached:
            reached.add(importing)
            pending.extend(imported for first, imported in migration.facts.imports if first is importing)
    return reached


def _scripts(migration: Migration) -> set[Module]:
    """The modules that do something with a model when they are loaded, or ask whether they are run."""
    sites = (site for use in migration.facts.uses for site in use.site.chain())
    acting = {site.frame.module for site in sites if site.frame.function is None}
    return acting | {module for module in migration.facts.modules if _asks_whether_it_is_run(module)}


def _asks_whether_it_is_run(module: Module) -> bool:
    tests = (unit.test for unit in units_of(module.tree) if isinstance(unit, cst.If))
    return any(isinstance(part, cst.Name) and part.value == "__name__" for test in tests for part in walk(test))


def _loads_by_name(facts: Facts) -> bool:
    """Whether a module loads others by a name or a path."""
    calls = facts.module.calls
    return any(
        facts.called(call).split(".")[0] in _LOADERS
        or (isinstance(call.func, cst.Name) and call.func.value in ("__import__", "exec"))
        for call in calls
    )
