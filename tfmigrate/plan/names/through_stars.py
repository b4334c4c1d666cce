"""Names that `from keras.layers import *` brought in and the same import of tensorflow.keras does not: modules that
Keras had imported for its own use, and names that have moved or have been renamed since."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from tfmigrate.importing import LIBRARIES
from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.edits import Insert, Rank, Replace
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.plan.names.excused import taken_out
from tfmigrate.plan.names.public_names import public_names
from tfmigrate.plan.names.taken import Name, names_offered, names_taken
from tfmigrate.plan.names.target import Target
from tfmigrate.understand import names
from tfmigrate.understand.blocks import Unit
from tfmigrate.understand.import_statements import is_star_import
from tfmigrate.understand.module import Module
from tfmigrate.understand.program import Program
from tfmigrate.understand.stars import brought


def check_last(context: Context, others: Sequence[CallChange]) -> Iterator[CallChange]:
    """Imports what the star imports no longer bring, or writes the current name where they bring that.

    What today's TensorFlow has nowhere is reported by the rules about names that are gone, and what another rule takes
    out needs no import, but for what other modules import from here.
    """
    stars = _Stars(context)
    gone = frozenset(taken_out(others)) if stars.stars else frozenset()
    imported: dict[str, str] = {}
    for name, (old, mentions) in stars.names.items():
        nodes = [node for node in mentions if node not in gone]
        new = context.tables.moves.imported(old)
        if not (nodes or name in stars.wanted) or stars.still_bring(name) or stars.is_gone(new):
            continue
        last = new.rpartition(".")[2]
        if last != name and name not in stars.wanted and stars.bring_instead(last):
            code = context.tables.moves.rule_of(old) or codes.MOVED_MODULES
            edit, *more = (Replace(node, last) for node in nodes)
            yield CallChange(code, nodes[0], f"{old} is {new}", edit, more=tuple(more))
        else:
            imported[name] = new
    if imported:
        first = stars.stars[0]
        listed = ", ".join(sorted(imported))
        message = f"star imports of Keras also brought in {listed}, those of tensorflow.keras do not: imported here"
        edits = [Insert(first.unit, line, rank=Rank.RULE) for line in _lines(imported)]
        yield CallChange(codes.STANDALONE_KERAS, first.statement, message, edits[0], more=tuple(edits[1:]))


def _lines(imported: Mapping[str, str]) -> Iterator[str]:
    """The imports that bind names to what these are in full: whole modules first, one line for each place."""
    named = {name: new.rpartition(".")[2] for name, new in imported.items()}
    parts = {name: last if last == name else f"{last} as {name}" for name, last in named.items()}
    homes: dict[str, list[str]] = {}
    for name, new in sorted(imported.items(), key=lambda item: item[1]):
        homes.setdefault(new.rpartition(".")[0], []).append(parts[name])
    yield from (f"import {part}" for part in homes.pop("", ()))
    yield from (f"from {home} import {', '.join(listed)}" for home, listed in homes.items())


@dataclass(frozen=True)
class _Star:
    """One star import that brings names of Keras, itself or through other modules of the program."""

    statement: cst.ImportFrom
    unit: Unit
    homes: tuple[str, ...]
    """The modules of Keras that it brings names of, the last one first."""


def _program(migration: Migration) -> Program:
    return Program(list(migration.drafts))


def _taken(migration: Migration) -> Set[Name]:
    """The names that the program's modules take from each other before any import goes."""
    return names_taken(migration.drafts, {}, migration.once(_program))


@dataclass(frozen=True, eq=False)
class _Stars:
    """The star imports at the top of a module that bring names of Keras, and what it uses of them."""

    context: Context

    @property
    def _module(self) -> Module:
        return self.context.facts.module

    @cached_property
    def stars(self) -> list[_Star]:
        """In the order of the text."""
        program, stars = self.context.migration.once(_program), []
        for statement, unit in self._module.imports:
            if not is_star_import(statement):
                continue
            reached = program.reached_by_stars(program.star_source(statement, self._module))
            homes = tuple(home for home in reached if isinstance(home, str) and names.flavour(home))
            if homes and self._module.places[unit].owner is None:
                stars.append(_Star(statement, unit, homes))
        return stars

    @cached_property
    def _defined(self) -> Set[str]:
        """What the modules of the program that star imports reach from here define."""
        migration = self.context.migration
        return names_offered(self._module, migration.drafts, migration.once(_program))

    @cached_property
    def wanted(self) -> Set[str]:
        """What other modules take from this one."""
        taken = self.context.migration.once(_taken) if self.stars else frozenset()
        return {name for module, name in taken if module is self._module}

    @cached_property
    def target(self) -> Target:
        return Target(public_names(), self.context.settings.target, keras_2=False)

    @cached_property
    def names(self) -> dict[str, tuple[str, list[cst.Name]]]:
        """Each name that one of them brings and that is used: what it is in full, and the places here that read it."""
        scopes, symbols = self.context.scopes, self.context.facts.symbols
        found: dict[str, tuple[str, list[cst.Name]]] = {}
        for scope in scopes.by_node.values() if self.stars else ():
            for name, mentions in scope.mentions.items():
                full = None if hasattr(builtins, name) or scopes.owner(name, scope) else self._brought(name)
                if full is not None:
                    nodes = [seen.node for seen in mentions if isinstance(seen.node, cst.Name)]
                    read = [node for node in nodes if symbols.get(node, full) == full]
                    if read:
                        found.setdefault(name, (full, []))[1].extend(read)
        for name in sorted(self.wanted):
            full = self._brought(name)
            if full is not None:
                found.setdefault(name, (full, []))
        return found

    def _brought(self, name: str) -> str | None:
        """What a name is in full that nothing in the module binds."""
        if name in self._defined:
            return None
        known = (brought(home, name) for star in reversed(self.stars) for home in star.homes)
        full = next((full for full in known if full is not None), None)
        return None if full is None or names.canonical(full) == names.MULTI_GPU_MODEL else full

    def still_bring(self, name: str) -> bool:
        """Whether a name comes from one of the modules that they are imports of now."""
        return any(self.target.missing(f"{home}.{name}") is None for home in self._homes)

    def is_gone(self, full: str) -> bool:
        """Whether a library that is measured has a name nowhere."""
        return full.partition(".")[0] in LIBRARIES and self.target.missing(full) is not None

    def bring_instead(self, name: str) -> bool:
        """Whether another name comes from there, and the module has nothing else of that name."""
        scopes = self.context.scopes
        return self.still_bring(name) and not any(name in scope.mentions for scope in scopes.by_node.values())

    @cached_property
    def _homes(self) -> list[str]:
        """Where the names come from now."""
        moved = self.context.tables.moves.imported
        return [moved(home) for star in self.stars for home in star.homes]
