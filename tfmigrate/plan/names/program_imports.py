"""The imports of a program: what goes is imported no more, what other modules take from one stays in it."""

from __future__ import annotations

from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import text_of
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Remove, Replace
from tfmigrate.plan.names.import_tensorflow import import_tensorflow
from tfmigrate.plan.names.imports import Aliases, ImportChange, Moves, in_try, plan_import, tries_of_imports
from tfmigrate.plan.names.joined_imports import joined_imports
from tfmigrate.plan.names.module_imports import ModuleImports
from tfmigrate.plan.names.moved import has_uses
from tfmigrate.plan.names.tables import Tables
from tfmigrate.plan.names.taken import Name, names_gone, names_of_wrapper, names_taken
from tfmigrate.plan.names.version_tests import only_for_tensorflow_1
from tfmigrate.understand.blocks import Unit, is_seam, units_of
from tfmigrate.understand.exports import lists_of_exports
from tfmigrate.understand.import_statements import imports_of
from tfmigrate.understand.module import Module
from tfmigrate.understand.program import Program
from tfmigrate.understand.syntax import dotted


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


def _imports_of(
    drafts: Mapping[Module, Draft], planned: Iterable[Module]
) -> tuple[dict[Module, ModuleImports], set[Name]]:
    """The imports of each module, and the names that modules take from each other once those of `planned` change."""
    program = Program(list(drafts))
    gone, wrapper = names_gone(drafts, program), names_of_wrapper(drafts, program)
    imports = {
        module: ModuleImports(draft, program, gone, wrapper, draft.vanishing()) for module, draft in drafts.items()
    }
    return imports, names_taken(drafts, {module: imports[module].dropped for module in planned}, program)


def unused(modules: Set[Module], drafts: Mapping[Module, Draft]) -> set[Module]:
    """Those of some modules that nothing in the program imports any more, once its edits are made."""
    if not modules:
        return set()
    imports, taken = _imports_of(drafts, drafts.keys())
    used: set[Module | None] = {module for module, _ in taken}
    for module in drafts:
        for statement, unit in module.imports:
            dropped = imports[module].dropped(statement, unit, taken)
            used.update(imports[module].sources(statement, dropped))
    return set(modules) - used


def imports_only(drafts: Mapping[Module, Draft], moved: Set[Module]) -> tuple[set[Module], set[Module]]:
    """The modules, other than `moved`, that import multi_gpu_model and use it nowhere: those whose import can go, and
    those where it stays.

    It stays where a use is left in a module that takes the name from there: nothing changes in the module, and that is
    reported.
    """
    program = Program(list(drafts))
    wrapper = names_of_wrapper(drafts, program)
    idle = {
        module
        for module, draft in drafts.items()
        if module not in moved and not has_uses(draft) and _imports_one_of(wrapper, draft)
    }
    imports, taken = _imports_of(drafts, moved | idle)
    staying = set()
    for module in idle:
        for statement, unit in module.imports:
            names_in_use = imports[module].split(statement, unit, taken)[1]
            if names_in_use:
                staying.add(module)
                imports[module].say_staying(statement, names_in_use, unit)
    return idle - staying, staying


def _imports_one_of(wrapper: Set[Name], draft: Draft) -> bool:
    """Whether a module has an import of multi_gpu_model that may go; one that is left alone is reported."""
    importing = [
        statement
        for statement, _ in draft.module.imports
        for _, bound, _ in imports_of(statement)
        if (draft.module, bound) in wrapper
    ]
    for statement in importing:
        draft.leave(codes.LEFTOVER_IMPORT, statement)
    return any(draft.allows(codes.LEFTOVER_IMPORT, statement) for statement in importing)


def _drop_imports(imports: ModuleImports) -> None:
    """Leaves out of a module's imports the classes and functions that are gone, and nothing else."""
    for statement, _ in imports.draft.module.imports:
        gone = imports.of_gone(statement)
        change = plan_import(statement, Moves({}), Aliases(gone)) if gone else None
        if change is not None and change.edit is not None:
            imports.draft.edits.append(change.edit)
            imports.say_gone(statement, gone)


def _shorten_exports(imports: ModuleImports) -> None:
    """Leaves out of `__all__` what is gone: `from module import *` would fail on it."""
    module = imports.draft.module
    gone = {name for source, name in imports.gone if source is module}
    for statement, _ in module.imports:
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


def _moves_told(moved: Iterable[tuple[str, str]], moves: Moves) -> Iterator[tuple[str, str]]:
    """The code and message for what one import statement imports from another place now, one for each rule."""
    others: dict[str, list[tuple[str, str]]] = defaultdict(list)
    standalone = False
    for old, new in moved:
        if new == f"tensorflow.{old}":
            standalone = True
        else:
            others[moves.rule_of(old) or codes.MOVED_MODULES].append((old, new))
    if standalone:
        yield codes.STANDALONE_KERAS, "keras becomes tensorflow.keras"
    for code, pairs in others.items():
        yield code, ", ".join(_places_told(pairs))


def _places_told(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    """`a.b is c.d` for each renamed name, and one sentence for all that move between two modules unrenamed."""
    together: dict[tuple[str, str], list[str]] = defaultdict(list)
    for old, new in pairs:
        (module, _, name), (other, _, renamed) = old.rpartition("."), new.rpartition(".")
        if name == renamed and other:
            together[module, other].append(name)
        else:
            yield f"{old} is {new}"
    for (module, other), (*first, last) in together.items():
        if first:
            yield f"{', '.join(first)} and {last} of {module} are in {other}"
        else:
            yield f"{module}.{last} is {other}.{last}"


def _plan_imports(imports: ModuleImports, tables: Tables, unread: Set[cst.ImportAlias], taken: Set[Name]) -> None:
    draft = imports.draft
    dead = {edit.node for edit in draft.edits if isinstance(edit, Remove) and isinstance(edit.node, cst.ImportAlias)}
    draft.edits[:] = [edit for edit in draft.edits if not isinstance(edit, Remove) or edit.node not in dead]
    rewriting = _Rewriting(imports, tables, unread, taken, dead)
    for statement, unit in draft.module.imports:
        rewriting.rewrite(statement, unit)
    draft.edits[:] = joined_imports(draft.module, draft.edits)
    draft.edits.extend(tries_of_imports(draft.module, rewriting.vanishing))


@dataclass(frozen=True, eq=False)
class _Rewriting:
    """The imports of a module, one after the other."""

    imports: ModuleImports
    tables: Tables
    unread: Set[cst.ImportAlias]
    """What is imported and never read."""
    taken: Set[Name]
    """What other modules take from this one, and it from them."""
    dead: Set[cst.CSTNode]
    """What another rule takes out."""
    vanishing: list[cst.Import | cst.ImportFrom] = field(default_factory=list)
    """The statements of which nothing is left."""
    written: dict[tuple[cst.CSTNode, int], set[str]] = field(default_factory=lambda: defaultdict(set))
    """The lines that stand in each block of each cell."""

    @property
    def draft(self) -> Draft:
        return self.imports.draft

    @cached_property
    def _of_tensorflow_1(self) -> Set[cst.CSTNode]:
        return frozenset(only_for_tensorflow_1(self.draft.facts))

    @cached_property
    def _seams(self) -> list[int]:
        """Where the cells of a notebook end."""
        return [self.draft.module.order[unit] for unit in units_of(self.draft.module.tree) if is_seam(unit)]

    def rewrite(self, statement: cst.Import | cst.ImportFrom, unit: Unit) -> None:
        module = self.draft.module
        cell = bisect(self._seams, module.order[unit])  # Each cell imports for itself: it may be run alone.
        dropped, kept = self._split(statement, unit)
        earlier = frozenset().union(*(self.written[block, cell] for block in _blocks_round(module, unit)))
        # What only TensorFlow 1 imports stays as it is, but for the names that are gone.
        stays = statement in self._of_tensorflow_1
        moves = Moves({}) if stays else self.tables.moves
        renamed = {} if stays else self.imports.renamed_classes(self.tables, statement, unit, self.taken, self.dead)
        known = frozenset(alias for alias, each in renamed.items() if each.is_imported)
        aliases = Aliases(dropped, kept, self.imports.of_wrapper(statement), renamed.keys(), known)
        change = plan_import(statement, moves, aliases, earlier)
        if change is None:
            return
        if change.edit is not None:
            self.written[module.places[unit].block, cell].update(change.lines)
            self.draft.edits.append(change.edit)
            self.draft.edits.extend(Replace(node, each.new) for each in renamed.values() for node in each.uses)
            if not change.edit.parts:
                self.vanishing.append(statement)
        self._say(change, kept, unit)

    def _split(
        self, statement: cst.Import | cst.ImportFrom, unit: Unit
    ) -> tuple[frozenset[cst.ImportAlias], frozenset[cst.ImportAlias]]:
        """The aliases that go, and those of multi_gpu_model that something still reads."""
        module = self.draft.module
        dropped, kept = self.imports.split(statement, unit, self.taken)
        for alias, bound, full in imports_of(statement):
            if alias in self.dead and (module, bound) not in self.taken:
                dropped |= {alias}
            # Nobody would write `from tensorflow.keras import utils as np_utils` for a name that nothing reads.
            last = self.tables.moves.imported(full).rpartition(".")[2]
            if alias in self.unread and last != dotted(alias.name) and not in_try(module, unit):
                dropped |= {alias}
                message = f"{full} was renamed, and nothing here uses it: its import is removed"
                self.draft.say(codes.MOVED_MODULES, statement, message, "rewrite")
        return dropped, kept

    def _say(self, change: ImportChange, kept: Set[cst.ImportAlias], unit: Unit) -> None:
        gone = self.imports.of_gone(change.statement)
        if gone:
            self.imports.say_gone(change.statement, gone)
        if change.removed:
            message = "the import of multi_gpu_model, which TensorFlow 2.4 removed, is dropped"
            self.draft.say(codes.LEFTOVER_IMPORT, change.statement, message, "rewrite")
        if change.staying:
            self.imports.say_staying(change.statement, kept, unit)
        for code, message in _moves_told(change.moved, self.tables.moves):
            self.draft.say(code, change.statement, message, "rewrite")


def _blocks_round(module: Module, unit: Unit) -> Iterator[cst.CSTNode]:
    """The blocks round a unit whose names it sees: those of its function, and the module's top level."""
    yield module.places[unit].block
    for owner in module.ancestors(unit):
        if isinstance(owner, cst.FunctionDef | cst.ClassDef):
            yield module.tree
            return
        yield module.places[owner].block
