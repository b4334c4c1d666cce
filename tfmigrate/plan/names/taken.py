"""Names that the modules of a program take from each other, once the edits are made: they must still be there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set

import libcst as cst

from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Unwrap
from tfmigrate.understand import names
from tfmigrate.understand.blocks import Unit
from tfmigrate.understand.import_statements import imports_of
from tfmigrate.understand.module import Module
from tfmigrate.understand.program import Program
from tfmigrate.understand.syntax import dotted, root_of
from tfmigrate.understand.values import ModuleValue

Name = tuple[Module, str]
"""A name of a module's top level."""
Drops = Callable[[cst.Import | cst.ImportFrom, Unit, Set[Name]], Set[cst.ImportAlias]]
"""The aliases of an import statement that go, where others take these names."""


def names_taken(drafts: Mapping[Module, Draft], drops: Mapping[Module, Drops], program: Program) -> set[Name]:
    """Every name that some module still takes from another one. `drops`: of the modules whose imports are planned."""
    gone = {module: draft.vanishing() for module, draft in drafts.items()}
    taken = {name for module, draft in drafts.items() for name in _by_attribute(draft, gone[module])}
    while True:
        fresh: set[Name] = set()
        for module, draft in drafts.items():
            for statement, unit in module.imports:
                source = program.source(statement, module)
                if source is None or source is module or not isinstance(statement, cst.ImportFrom):
                    continue
                if isinstance(statement.names, cst.ImportStar):
                    offered = names_offered(source, drafts, program)
                    fresh.update((source, name) for name in _through_star(draft, offered, gone[module], taken))
                    continue
                dropped = drops[module](statement, unit, taken) if module in drops else frozenset()
                fresh.update((source, dotted(alias.name)) for alias in statement.names if alias not in dropped)
        if fresh <= taken:
            return taken
        taken |= fresh


def _by_attribute(draft: Draft, gone: Set[cst.CSTNode]) -> Iterator[Name]:
    """What a module reads as `other.name`."""
    for node in draft.facts.values:
        if isinstance(node, cst.Attribute) and root_of(node) not in gone:
            for option in draft.facts.options(node.value):
                if isinstance(option, ModuleValue):
                    yield option.module, node.attr.value


def _through_star(draft: Draft, offered: Set[str], gone: Set[cst.CSTNode], taken: Set[Name]) -> Iterator[str]:
    """Those of some names that reach a module by `from source import *`, and are read there or handed on."""
    below = {name for name in offered if not name.startswith("_")}
    for scope in draft.scopes.by_node.values():
        for name in below.intersection(scope.mentions):
            if any(not mention.binds and mention.node not in gone for mention in scope.mentions[name]):
                yield name
    yield from (name for name in below if (draft.module, name) in taken)


def names_offered(module: Module, drafts: Mapping[Module, Draft], program: Program) -> set[str]:
    """The names of a module's top level, with those that star imports bring it from the program's own modules."""
    own = (source for source in program.reached_by_stars(module) if isinstance(source, Module))
    return {name for source in own for name in drafts[source].scopes.module.bound}


def names_gone(drafts: Mapping[Module, Draft], program: Program) -> set[Name]:
    """The functions and classes that the edits take out, under every name that an import gives them."""
    gone = {
        (module, edit.unit.name.value)
        for module, draft in drafts.items()
        for edit in draft.edits
        if isinstance(edit, Unwrap) and edit.suite is None and isinstance(edit.unit, cst.FunctionDef | cst.ClassDef)
        if module.places[edit.unit].owner is None
    }
    return _passed_on(gone, drafts, program)


def names_of_wrapper(drafts: Mapping[Module, Draft], program: Program) -> set[Name]:
    """The names under which the program's modules import multi_gpu_model, from Keras or from each other."""
    exported = {
        (module, bound)
        for module in drafts
        for statement, _ in module.imports
        for _, bound, full in imports_of(statement)
        if names.canonical(full) == names.MULTI_GPU_MODEL
    }
    return _passed_on(exported, drafts, program)


def _passed_on(known: set[Name], drafts: Mapping[Module, Draft], program: Program) -> set[Name]:
    """Some names, and those under which other modules import them, and others from these."""
    while known:
        fresh = {
            (module, bound)
            for module in drafts
            for statement, _ in module.imports
            for alias, bound, _ in imports_of(statement)
            if (program.source(statement, module), dotted(alias.name)) in known
        }
        if fresh <= known:
            break
        known = known | fresh
    return known
