"""The imports of a program: what goes is imported no more, what other modules take from one stays in it."""

from __future__ import annotations

from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import text_of
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Remove, Replace
from tfmigrate.plan.names.import_tensorflow import import_tensorflow
from tfmigrate.plan.names.imports import Moves, in_try, joined_imports, plan_import, tries_of_imports
from tfmigrate.plan.names.moved import has_uses
from tfmigrate.plan.names.tables import Tables
from tfmigrate.plan.names.taken import Links, Name, names_gone, names_of_wrapper, names_taken
from tfmigrate.plan.names.version_tests import only_for_tensorflow_1
from tfmigrate.understand import names
from tfmigrate.understand.exports import lists_of_exports
from tfmigrate.understand.program import (
    Module,
    Unit,
    dotted,
    import_statements,
    imports_of,
    is_seam,
    units_of,
)


def plan_imports(
    drafts: Mapping[Module, Draft], tables: Mapping[Module, Tables], unread: Mapping[Module, Set[cst.ImportAlias]]
) -> None:
    """The imports of a program, once all else is planned: what goes is imported no more, what others take stays.

    `tables`, `unread`: of the modules whose companions were planned. Of the others, only what is gone goes.
    """
    imports, taken = _imports_of(drafts, tables.keys())
    for module, draft in drafts.items():
        if module in tables:
            _plan_imports(imports[module], tables[module], unread[module], taken)
            import_tensorflow(draft)
        else:
            _drop_imports(imports[module])
        _shorten_exports(imports[module])


def _imports_of(drafts: Mapping[Module, Draft], planned: Iterable[Module]) -> tuple[dict[Module, _Imports], set[Name]]:
    """The imports of each module, and the names that modules take from each other once those of `planned` change."""
    links = Links.of(drafts)
    gone, wrapper = names_gone(drafts, links), names_of_wrapper(drafts, links)
    imports = {module: _Imports(draft, links, gone, wrapper, draft.vanishing()) for module, draft in drafts.items()}
    return imports, names_taken(drafts, {module: imports[module].dropped for module in planned}, links)


def unused(modules: Set[Module], drafts: Mapping[Module, Draft]) -> set[Module]:
    """Those of some modules that nothing in the program imports any more, once its edits are made."""
    if not modules:
        return set()
    imports, taken = _imports_of(drafts, drafts.keys())
    used: set[Module | None] = {module for module, _ in taken}
    for module in drafts:
        for statement, unit in import_statements(module):
            dropped = imports[module].dropped(statement, unit, taken)
            used.update(imports[module].sources(statement, dropped))
    return set(modules) - used


def imports_only(drafts: Mapping[Module, Draft], moved: Set[Module]) -> tuple[set[Module], set[Module]]:
    """The modules, other than `moved`, that import multi_gpu_model and use it nowhere: those whose import can go, and
    those where it stays.

    It stays where a use is left in a module that takes the name from there: nothing changes in the module, and that is
    reported.
    """
    links = Links.of(drafts)
    wrapper = names_of_wrapper(drafts, links)
    idle = {
        module
        for module, draft in drafts.items()
        if module not in moved and not has_uses(draft) and _imports_one_of(wrapper, draft)
    }
    imports, taken = _imports_of(drafts, moved | idle)
    staying = set()
    for module in idle:
        for statement, unit in import_statements(module):
            names_in_use = imports[module].split(statement, unit, taken)[1]
            if names_in_use:
                staying.add(module)
                imports[module].say_staying(statement, names_in_use, unit)
    return idle - staying, staying


def _imports_one_of(wrapper: Set[Name], draft: Draft) -> bool:
    """Whether a module has an import of multi_gpu_model that may go; one that is left alone is reported."""
    importing = [
        statement
        for statement, _ in import_statements(draft.module)
        for _, bound, _ in imports_of(statement)
        if (draft.module, bound) in wrapper
    ]
    for statement in importing:
        draft.leave(codes.LEFTOVER_IMPORT, statement)
    return any(draft.allows(codes.LEFTOVER_IMPORT, statement) for statement in importing)


def _drop_imports(imports: _Imports) -> None:
    """Leaves out of a module's imports the classes and functions that are gone, and nothing else."""
    for statement, _ in import_statements(imports.draft.module):
        gone = imports.of_gone(statement)
        change = plan_import(statement, Moves({}), gone, frozenset(), frozenset(), frozenset()) if gone else None
        if change is not None and change.edit is not None:
            imports.draft.edits.append(change.edit)
            imports.say_gone(statement, gone)


def _shorten_exports(imports: _Imports) -> None:
    """Leaves out of `__all__` what is gone: `from module import *` would fail on it."""
    module = imports.draft.module
    gone = {name for source, name in imports.gone if source is module}
    for statement, _ in import_statements(module):
        aliases = imports.of_gone(statement)
        gone |= {bound for alias, bound, _ in imports_of(statement) if alias in aliases}
    for listed in lists_of_exports(module) if gone else ():
        kept = [element for element in listed.elements if text_of(element.value) not in gone]
        left_out = [text for element in listed.elements if (text := text_of(element.value)) in gone]
        if left_out:
            if kept:
                kept[-1] = kept[-1].with_changes(comma=listed.elements[-1].comma)
            code = cst.Module([]).code_for_node(listed.with_changes(elements=kept))
            imports.draft.edits.append(Replace(listed, code))
            message = f"{', '.join(map(str, left_out))} no longer exists: it is left out of __all__"
            imports.draft.say(codes.LEFTOVER_IMPORT, listed, message, "rewrite")


@dataclass(frozen=True, eq=False)
class _Imports:
    """The imports of one module, before the edits that they need."""

    draft: Draft
    links: Links
    gone: Set[Name]
    """What the program's modules no longer define."""
    wrapper: Set[Name]
    """Names of the program's modules that are multi_gpu_model."""
    vanishing: Set[cst.CSTNode]
    """Every mention of a name that the edits take out of this module."""

    def sources(self, statement: cst.Import | cst.ImportFrom, dropped: Set[cst.ImportAlias]) -> set[Module | None]:
        """The modules of the program that a statement imports, or names of them, without the aliases that go; None for
        any other."""
        importer, names_in = self.draft.module, statement.names
        kept = [] if isinstance(names_in, cst.ImportStar) else [alias for alias in names_in if alias not in dropped]
        found = {self.links.module(statement, alias, importer) for alias in kept}
        if kept or isinstance(names_in, cst.ImportStar):
            found.add(self.links.source(statement, importer))
        return found - {importer}

    def of_wrapper(self, statement: cst.Import | cst.ImportFrom) -> frozenset[cst.ImportAlias]:
        """The aliases that are multi_gpu_model, whichever module passes it on."""
        source = self.links.source(statement, self.draft.module)
        return frozenset(
            alias
            for alias, _, full in imports_of(statement)
            if names.canonical(full) == names.MULTI_GPU_MODEL
            or (source is not None and (source, dotted(alias.name)) in self.wrapper)
        )

    def of_gone(self, statement: cst.Import | cst.ImportFrom) -> frozenset[cst.ImportAlias]:
        """The aliases of what no longer exists."""
        source = self.links.source(statement, self.draft.module)
        if source is None:
            return frozenset()
        return frozenset(a for a, _, _ in imports_of(statement) if (source, dotted(a.name)) in self.gone)

    def say_gone(self, statement: cst.ImportFrom | cst.Import, gone: Set[cst.ImportAlias]) -> None:
        listed = ", ".join(dotted(alias.name) for alias in sorted(gone, key=lambda one: dotted(one.name)))
        message = f"{listed} no longer exists: the import is removed"
        self.draft.say(codes.LEFTOVER_IMPORT, statement, message, "rewrite")

    def say_staying(self, statement: cst.ImportFrom | cst.Import, kept: Set[cst.ImportAlias], unit: Unit) -> None:
        here = any(self._reads_left(bound, unit) for alias, bound, _ in imports_of(statement) if alias in kept)
        where = "in this file" if here else "in the files that import it from here"
        message = f"this import stays as long as the uses refused {where} do"
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
            for statement, unit in import_statements(self.draft.module)
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
            elif ours or (not wanted and not expected and read is False and not draft.writes(bound)):
                dropped.add(alias)
        return frozenset(dropped), frozenset(kept)

    def renamed_classes(
        self, tables: Tables, statement: cst.Import | cst.ImportFrom, unit: Unit, taken: Set[Name]
    ) -> dict[cst.ImportAlias, tuple[str, list[cst.Name]]]:
        """Classes that have another name now, which is written where they are used: nobody writes `LSTM as CuDNNLSTM`.

        Not where the module mentions that name already, other modules take the old one, or an edit writes it.
        """
        renamed: dict[cst.ImportAlias, tuple[str, list[cst.Name]]] = {}
        draft = self.draft
        if not isinstance(statement, cst.ImportFrom) or in_try(draft.module, unit):
            return renamed
        for alias, bound, full in imports_of(statement):
            new = tables.moves.imported(full).rpartition(".")[2]
            if alias.asname is not None or new == bound or not new[:1].isupper() or not bound[:1].isupper():
                continue
            mentions = draft.scopes.of_variable(bound, draft.scope_round(unit))
            rebound = any(mention.binds and mention.node is not alias for mention in mentions)
            known = any(new in scope.mentions for scope in draft.scopes.by_node.values())
            if not known and not rebound and (draft.module, bound) not in taken and not draft.writes(bound):
                nodes = [seen.node for seen in mentions if isinstance(seen.node, cst.Name)]
                renamed[alias] = new, [node for node in nodes if node not in self.vanishing]
        return renamed


def _moves_told(moved: Iterable[tuple[str, str]], moves: Moves) -> Iterator[tuple[str, str]]:
    """The code and message for what one import statement imports from another place now, one for each rule."""
    others: dict[str, list[str]] = defaultdict(list)
    standalone = False
    for old, new in moved:
        if new == f"tensorflow.{old}":
            standalone = True
        else:
            others[moves.rule_of(old) or codes.MOVED_MODULES].append(f"{old} is {new}")
    if standalone:
        yield codes.STANDALONE_KERAS, "keras becomes tensorflow.keras"
    for code, parts in others.items():
        yield code, ", ".join(parts)


def _plan_imports(imports: _Imports, tables: Tables, unread: Set[cst.ImportAlias], taken: Set[Name]) -> None:
    draft = imports.draft
    dead = {edit.node for edit in draft.edits if isinstance(edit, Remove) and isinstance(edit.node, cst.ImportAlias)}
    draft.edits[:] = [edit for edit in draft.edits if not isinstance(edit, Remove) or edit.node not in dead]
    written: dict[tuple[cst.CSTNode, int], set[str]] = defaultdict(set)
    order = draft.module.order
    seams = [order[unit] for unit in units_of(draft.module.tree) if is_seam(unit)]
    vanishing = []
    old = frozenset(only_for_tensorflow_1(draft.facts))
    for statement, unit in import_statements(draft.module):
        cell = bisect(seams, order[unit])  # Each cell of a notebook imports for itself: it may be run alone.
        dropped, kept = imports.split(statement, unit, taken)
        dropped |= {a for a, bound, _ in imports_of(statement) if a in dead and (draft.module, bound) not in taken}
        for alias, _, full in imports_of(statement):
            # Nobody would write `from tensorflow.keras import utils as np_utils` for a name that nothing reads.
            last = tables.moves.imported(full).rpartition(".")[2]
            if alias in unread and last != dotted(alias.name) and not in_try(draft.module, unit):
                dropped |= {alias}
                message = f"{full} was renamed, and nothing here uses it: its import is removed"
                draft.say(codes.MOVED_MODULES, statement, message, "rewrite")
        earlier = frozenset().union(*(written[block, cell] for block in _blocks_round(draft.module, unit)))
        # What only TensorFlow 1 imports stays as it is, but for the names that are gone.
        moves = Moves({}) if statement in old else tables.moves
        renamed = {} if statement in old else imports.renamed_classes(tables, statement, unit, taken)
        change = plan_import(statement, moves, dropped, kept, imports.of_wrapper(statement), earlier, renamed.keys())
        if change is None:
            continue
        if change.edit is not None:
            written[draft.module.places[unit].block, cell].update(change.lines)
            draft.edits.append(change.edit)
            draft.edits.extend(Replace(node, new) for new, nodes in renamed.values() for node in nodes)
            if not change.edit.parts:
                vanishing.append(statement)
        gone = imports.of_gone(statement)
        if gone:
            imports.say_gone(statement, gone)
        if change.removed:
            message = "the import of multi_gpu_model, which TensorFlow 2.4 removed, is dropped"
            draft.say(codes.LEFTOVER_IMPORT, statement, message, "rewrite")
        if change.staying:
            imports.say_staying(statement, kept, unit)
        for code, message in _moves_told(change.moved, tables.moves):
            draft.say(code, statement, message, "rewrite")
    draft.edits[:] = joined_imports(draft.module, draft.edits)
    draft.edits.extend(tries_of_imports(draft.module, vanishing))


def _blocks_round(module: Module, unit: Unit) -> Iterator[cst.CSTNode]:
    """The blocks round a unit whose names it sees: those of its function, and the module's top level."""
    yield module.places[unit].block
    for owner in module.ancestors(unit):
        if isinstance(owner, cst.FunctionDef | cst.ClassDef):
            yield module.tree
            return
        yield module.places[owner].block
