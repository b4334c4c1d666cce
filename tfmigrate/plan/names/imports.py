"""Import statements: the removed name goes, standalone keras becomes tensorflow.keras, moved modules are followed."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import cache

import libcst as cst

from tfmigrate.plan.edits import ImportNames, ImportPart, Insert, Rank, Unwrap
from tfmigrate.plan.names.public_names import public_names
from tfmigrate.understand.blocks import Unit, units_of
from tfmigrate.understand.import_statements import imports_at, imports_of, packages_of
from tfmigrate.understand.module import Module
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.syntax import dotted

_PRIVATE = "tensorflow.python."
_INNER = ("keras.engine.", "keras.layers.")
_BACKEND = "tensorflow.keras.backend"


@dataclass(frozen=True)
class Moves:
    """Old qualified name -> new one, for modules and single names; the longest match wins."""

    table: Mapping[str, str]
    rules: Mapping[str, str] = field(default_factory=dict)
    """The code of the rule that an old name stands in."""

    def rule_of(self, name: str) -> str | None:
        """The code of the rule that moves a name."""
        return self.rules.get(self._row_of(name))

    def moved(self, name: str) -> str:
        """The current name. A name can move twice: its module into TensorFlow, and then itself."""
        once = self._moved_once(name)
        return once if once == name else _public(self._moved_once(once), name)

    def imported(self, name: str) -> str:
        """The same for what an import names. What never had a public name stays private: 2.21 still has much of it.

        So do the names of Keras's layers and engine that TensorFlow never had: nothing shall name what never was.
        """
        new = self.moved(name)
        if new == name or (not name.startswith((_PRIVATE, *_INNER)) and not _is_private(name)):
            return new
        index = public_names()
        return new if any(index.entry(new, version) is not None for version in index.versions(new)) else name

    def _moved_once(self, name: str) -> str:
        row = self._row_of(name)
        return self.table[row] + name[len(row) :] if row else name

    def _row_of(self, name: str) -> str:
        """The longest beginning of a name that the table has; "" where it has none."""
        parts = name.split(".")
        heads = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
        return next((head for head in heads if head in self.table), "")


def _is_private(name: str) -> bool:
    """Whether it is a private name of standalone Keras."""
    return name.startswith("keras.") and re.fullmatch("_[^_].*", name.rpartition(".")[2]) is not None


@cache
def _public(new: str, old: str) -> str:
    """The public place of what a module held that is gone, or was Keras's own: the last part of the name tells it."""
    head = new.rpartition(".")[0]
    if not new.startswith("tensorflow.keras.") or (new == f"tensorflow.{old}" and _is_there(head)) or _is_there(new):
        return new
    elsewhere = public_names().elsewhere(new)
    # What the backend lacks is gone, and its names mean other things than the same ones elsewhere.
    return new if elsewhere is None or head == _BACKEND or elsewhere.startswith(f"{_BACKEND}.") else elsewhere


@cache
def _is_there(name: str) -> bool:
    index = public_names()
    return index.missing(name, index.versions(name)[-1]) is None


@dataclass(frozen=True)
class ImportChange:
    """One import statement's edit and what it amounts to."""

    edit: ImportNames | None
    statement: cst.Import | cst.ImportFrom
    removed: tuple[str, ...]
    """Bound names of multi_gpu_model that go."""
    staying: tuple[str, ...]
    """Bound names of multi_gpu_model that stay, because a use is left."""
    moved: tuple[tuple[str, str], ...]
    """(old, new) qualified names."""
    lines: tuple[str, ...]
    """What is imported now, a line for each module."""


def among_standard(unit: Unit, module: Module) -> Unit:
    """The place for another import of the standard library: an import line, or the one of the standard library above it
    where a blank line is between the two."""
    place = module.places[unit]
    above = units_of(place.block)[place.index - 1] if place.index else None
    apart = any(line.comment is None for line in getattr(unit, "leading_lines", ()))
    return above if above is not None and apart and is_standard(above) and not is_standard(unit) else unit


def import_of_standard(name: str, module: Module, scopes: Scopes) -> Insert | None:
    """The import of a module of the standard library, below those that come before it; None where the name is taken."""
    if any(name in lexical.bound for lexical in (scopes.module, *scopes.by_node.values())):
        return None
    above = frozenset(standard for standard in sys.stdlib_module_names if standard < name)
    for statement, unit in module.imports:
        if module.places[unit].owner is None and packages_of(statement).isdisjoint(above):
            return Insert(among_standard(unit, module), f"import {name}", rank=Rank.IMPORT)
    return None


def is_standard(unit: Unit) -> bool:
    """Whether a line imports from the standard library alone."""
    roots = {full.split(".")[0] for small in imports_at(unit) for _, _, full in imports_of(small)}
    return bool(roots) and roots <= sys.stdlib_module_names - {"__future__"}


def in_try(module: Module, unit: Unit) -> bool:
    """Whether a statement stands in a `try`, whose failing the script may expect."""
    return any(isinstance(owner, cst.Try) for owner in module.ancestors(unit))


@dataclass(frozen=True)
class Aliases:
    """What is known of the names that an import brings."""

    dropped: Set[cst.ImportAlias]
    """Those that nothing uses any more."""
    kept: Set[cst.ImportAlias] = frozenset()
    """Those of multi_gpu_model that something still uses."""
    wrapper: Set[cst.ImportAlias] = frozenset()
    """All that are multi_gpu_model."""
    renamed: Set[cst.ImportAlias] = frozenset()
    """Those that get their current name where they are used, too."""
    known: Set[cst.ImportAlias] = frozenset()
    """Those of them that are imported by their current name already."""


def plan_import(
    statement: cst.Import | cst.ImportFrom, moves: Moves, aliases: Aliases, earlier: Set[str] = frozenset()
) -> ImportChange | None:
    """What becomes of one import statement; None where nothing does.

    `earlier` are the lines that came of the imports before it in the blocks round it, so that none stands twice there.
    """
    if isinstance(statement, cst.ImportFrom) and isinstance(statement.names, cst.ImportStar):
        return _star(statement, moves)
    following = _Following(statement, moves, aliases)
    for alias, bound, full in imports_of(statement):
        following.take(alias, bound, dotted(alias.name) if isinstance(statement, cst.Import) else full)
    return following.change(earlier)


@dataclass(frozen=True, eq=False)
class _Following:
    """One import statement, whose names are followed one by one to where they are now."""

    statement: cst.Import | cst.ImportFrom
    moves: Moves
    aliases: Aliases
    parts: dict[str, list[cst.ImportAlias | str]] = field(default_factory=dict)
    """What is imported now, by module."""
    removed: list[str] = field(default_factory=list)
    staying: list[str] = field(default_factory=list)
    moved: list[tuple[str, str]] = field(default_factory=list)

    def take(self, alias: cst.ImportAlias, bound: str, real: str) -> None:
        """The next name, `real` in full."""
        if alias in self.aliases.kept:
            self.staying.append(bound)
            self._write(alias, bound, real, real)
        elif alias not in self.aliases.dropped:
            self._follow(alias, bound, real)
        elif alias in self.aliases.wrapper:
            self.removed.append(bound)

    def _follow(self, alias: cst.ImportAlias, bound: str, real: str) -> None:
        new = self.moves.imported(real) if not real.startswith(".") else real
        if new != real:
            self.moved.append((real, new))
        binds_root = isinstance(self.statement, cst.Import) and alias.asname is None
        gone = binds_root and real.endswith(".multi_gpu_utils")
        if gone and new == real:
            self.removed.append(bound)
        if binds_root and (gone or new != real):
            new = self.moves.imported(bound)  # `import keras.layers` binds `keras`
        if alias in self.aliases.known:
            return
        self._write(alias, new.rpartition(".")[2] if alias in self.aliases.renamed else bound, real, new)

    def _write(self, alias: cst.ImportAlias, bound: str, old: str, new: str) -> None:
        """Write `new` bound to `bound`, with the old alias node where its text still holds."""
        head, _, last = new.rpartition(".")
        named: cst.ImportAlias | str = last if last == bound else f"{last} as {bound}"
        if isinstance(self.statement, cst.Import):
            if new == old:
                head, named = "", alias
        else:
            if old.startswith(".") and new == old:
                head = "." * len(self.statement.relative) + dotted(self.statement.module)
            if last == dotted(alias.name):
                named = alias
        self.parts.setdefault(head, []).append(named)

    def change(self, earlier: Set[str]) -> ImportChange | None:
        dropped = any(alias in self.aliases.dropped for alias, _, _ in imports_of(self.statement))
        changed = bool(self.moved) or bool(self.removed) or dropped
        if not changed and not self.staying:
            return None
        lines = self._lines(earlier)
        parts = tuple(ImportPart(module, tuple(self.parts[module])) for module in lines)
        edit = ImportNames(self.statement, parts) if changed else None
        removed, staying, moved = tuple(self.removed), tuple(self.staying), tuple(self.moved)
        return ImportChange(edit, self.statement, removed, staying, moved, tuple(lines.values()))

    def _lines(self, earlier: Set[str]) -> dict[str, str]:
        """A line for each module that something is imported from, but for those that stand there already."""
        lines: dict[str, str] = {}
        for module, listed in self.parts.items():
            line = f"{module}:{','.join(n if isinstance(n, str) else dotted(n.name) for n in listed)}"
            known = bool(self.moved) and line in (*earlier, *lines.values())
            if not known or not all(isinstance(name, str) for name in listed):
                lines[module] = line
        return lines


def _star(statement: cst.ImportFrom, moves: Moves) -> ImportChange | None:
    if statement.relative:
        return None
    old = dotted(statement.module)
    new = moves.imported(old)
    if new == old:
        return None
    return ImportChange(ImportNames(statement, (ImportPart(new, ("*",)),)), statement, (), (), ((old, new),), ())


def tries_of_imports(module: Module, vanishing: Iterable[cst.CSTNode]) -> Iterator[Unwrap]:
    """`try: import it except ImportError: ...`: gone whole where all that it tries goes.

    What handles the failure can no longer run; an `else` or `finally` that does something stays, and all of it then.
    """
    gone = frozenset(vanishing)
    for unit in module.places:
        if isinstance(unit, cst.Try):
            always = [part.body for part in (unit, unit.orelse, unit.finalbody) if part is not None]
            lines = [line for suite in always for line in units_of(suite)]
            smalls = [small for line in lines if isinstance(line, cst.SimpleStatementLine) for small in line.body]
            if (
                all(isinstance(line, cst.SimpleStatementLine) for line in lines)
                and all(small in gone or isinstance(small, cst.Pass) for small in smalls)
                and any(small in gone for small in smalls)
            ):
                yield Unwrap(unit, None)
