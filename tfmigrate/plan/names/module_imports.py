"""The imports of one module: which names of them something still needs once the edits are made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.names.imports import in_try
from tfmigrate.plan.names.tables import Tables
from tfmigrate.plan.names.taken import Name
from tfmigrate.understand import names
from tfmigrate.understand.blocks import Unit
from tfmigrate.understand.import_statements import imports_of
from tfmigrate.understand.module import Module
from tfmigrate.understand.program import Program
from tfmigrate.understand.scopes import Occurrence
from tfmigrate.understand.syntax import dotted
from tfmigrate.walk import walk


@dataclass(frozen=True, eq=False)
class ModuleImports:
    """The imports of one module, before the edits that they need."""

    draft: Draft
    program: Program
    gone: Set[Name]
    """Names that the program's modules no longer define."""
    wrapper: Set[Name]
    """Names of the program's modules that are multi_gpu_model."""
    vanishing: Set[cst.CSTNode]
    """Every mention of a name that the edits take out of this module."""

    def sources(self, statement: cst.Import | cst.ImportFrom, dropped: Set[cst.ImportAlias]) -> set[Module | None]:
        """The modules of the program that a statement imports something from, without the aliases `dropped`; None
        stands for any other module."""
        importer, names_in = self.draft.module, statement.names
        kept = [] if isinstance(names_in, cst.ImportStar) else [alias for alias in names_in if alias not in dropped]
        found = {self.program.named(statement, alias, importer) for alias in kept}
        if kept or isinstance(names_in, cst.ImportStar):
            found.add(self.program.source(statement, importer))
        return found - {importer}

    def of_wrapper(self, statement: cst.Import | cst.ImportFrom) -> frozenset[cst.ImportAlias]:
        """The aliases that are multi_gpu_model, whichever module passes it on."""
        source = self.program.source(statement, self.draft.module)
        return frozenset(
            alias
            for alias, _, full in imports_of(statement)
            if names.canonical(full) == names.MULTI_GPU_MODEL
            or (source is not None and (source, dotted(alias.name)) in self.wrapper)
        )

    def of_gone(self, statement: cst.Import | cst.ImportFrom) -> frozenset[cst.ImportAlias]:
        """The aliases of what no longer exists."""
        source = self.program.source(statement, self.draft.module)
        if source is None:
            return frozenset()
        return frozenset(a for a, _, _ in imports_of(statement) if (source, dotted(a.name)) in self.gone)

    def say_gone(self, statement: cst.ImportFrom | cst.Import, gone: Set[cst.ImportAlias]) -> None:
        """Report the import of names that no longer exist."""
        listed = ", ".join(dotted(alias.name) for alias in sorted(gone, key=lambda one: dotted(one.name)))
        message = f"{listed} no longer exists: the import is removed"
        self.draft.say(codes.LEFTOVER_IMPORT, statement, message, "rewrite")

    def say_staying(self, statement: cst.ImportFrom | cst.Import, kept: Set[cst.ImportAlias], unit: Unit) -> None:
        """Report an import of multi_gpu_model that refused uses still need."""
        here = any(self._reads_left(bound, unit) for alias, bound, _ in imports_of(statement) if alias in kept)
        where = "in this file" if here else "in the files that import it from here"
        message = f"this import stays as long as the refused uses {where}"
        self.draft.say(codes.LEFTOVER_IMPORT, statement, message, "refuse")

    def _reads_left(self, bound: str, unit: Unit) -> bool | None:
        """Whether something in the module still reads a name; None where nothing ever did."""
        mentions = self.draft.scopes.of_variable(bound, self.draft.scope_round(unit))
        reads = [mention.node for mention in mentions if not mention.binds]
        return any(node not in self.vanishing for node in reads) if reads else None

    @cached_property
    def _read(self) -> dict[cst.ImportAlias, bool | None]:
        """For each alias whether something in the module still reads it; None where nothing ever did."""
        return {
            alias: self._reads_left(bound, unit)
            for statement, unit in self.draft.module.imports
            for alias, bound, _ in imports_of(statement)
        }

    def dropped(
        self, statement: cst.Import | cst.ImportFrom, unit: Unit, taken: Set[Name]
    ) -> frozenset[cst.ImportAlias]:
        """The aliases that nothing reads any more, where other modules take the names `taken`."""
        return self.split(statement, unit, taken)[0]

    def split(
        self, statement: cst.Import | cst.ImportFrom, unit: Unit, taken: Set[Name]
    ) -> tuple[frozenset[cst.ImportAlias], frozenset[cst.ImportAlias]]:
        """The aliases that nothing reads any more, and those of multi_gpu_model that something still reads."""
        draft = self.draft
        dropped, kept = set(self.of_gone(statement)), set()
        expected, of_wrapper = in_try(draft.module, unit), self.of_wrapper(statement)
        for alias, bound, _ in imports_of(statement):
            ours, wanted, read = alias in of_wrapper, (draft.module, bound) in taken, self._read[alias]
            if alias in dropped or (ours and not draft.settings.wants(codes.MULTI_GPU_MODEL)):
                continue  # Only other rules are selected: the name moves with its module.
            if ours and (wanted or read):
                kept.add(alias)
            elif ours or (not wanted and not expected and read is False and not self._is_written(bound, unit)):
                dropped.add(alias)
        return frozenset(dropped), frozenset(kept)

    def _is_written(self, bound: str, unit: Unit) -> bool:
        """Whether an edit writes code that reads a name: in the function that imports it, where one does."""
        function = self.draft.scope_round(unit).node
        inside = frozenset(walk(function)) if isinstance(function, cst.FunctionDef) else None
        return self.draft.writes(bound, inside)

    def renamed_classes(
        self,
        tables: Tables,
        statement: cst.Import | cst.ImportFrom,
        unit: Unit,
        taken: Set[Name],
        dead: Set[cst.CSTNode],
    ) -> dict[cst.ImportAlias, RenamedClass]:
        """Classes that have another name now, which is written where they are used: nobody writes `LSTM as CuDNNLSTM`.

        Not where the module means something else by that name, other modules take the old one, or an edit writes it.
        """
        renamed: dict[cst.ImportAlias, RenamedClass] = {}
        draft = self.draft
        if not isinstance(statement, cst.ImportFrom) or in_try(draft.module, unit):
            return renamed
        for alias, bound, full in imports_of(statement):
            moved = tables.moves.imported(full)
            new = moved.rpartition(".")[2]
            if alias.asname is not None or new == bound or not new[:1].isupper() or not bound[:1].isupper():
                continue
            if (draft.module, bound) in taken or draft.writes(bound):
                continue
            mentions = draft.scopes.of_variable(bound, draft.scope_round(unit))
            rebound = any(mention.binds and mention.node is not alias for mention in mentions)
            known = any(new in scope.mentions for scope in draft.scopes.by_node.values())
            imported = known and self._imports(new, moved, tables, unit, dead)
            if imported == known and not rebound:
                renamed[alias] = RenamedClass(new, tuple(self._left(mentions)), imported)
        return renamed

    def _left(self, mentions: Iterable[Occurrence]) -> Iterator[cst.Name]:
        """The names among the mentions of a variable that no edit takes out."""
        for mention in mentions:
            if isinstance(mention.node, cst.Name) and mention.node not in self.vanishing:
                yield mention.node

    def _imports(self, bound: str, full: str, tables: Tables, unit: Unit, dead: Set[cst.CSTNode]) -> bool:
        """Whether `bound` is the same class wherever it is mentioned: imported at the top, by `unit` or above it."""
        module = self.draft.module
        binding = [
            mention.node
            for scope in self.draft.scopes.by_node.values()
            for mention in scope.mentions.get(bound, ())
            if mention.binds
        ]
        for statement, place in module.imports if len(binding) == 1 else ():
            for alias, _, known in imports_of(statement):
                if alias is binding[0]:
                    return (
                        module.places[place].owner is None
                        and module.order[place] <= module.order[unit]
                        and tables.moves.imported(known) == full
                        and self._read[alias] is not False
                        and alias not in dead
                    )
        return False


@dataclass(frozen=True)
class RenamedClass:
    """The name that a class has now, where it is written, and whether something imports it so already."""

    new: str
    uses: tuple[cst.Name, ...]
    is_imported: bool
