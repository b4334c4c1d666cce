"""Import statements: the removed name goes, standalone keras becomes tensorflow.keras, moved modules are followed."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import cache

import libcst as cst

from tfmigrate.plan.edits import Edit, ImportNames, ImportPart, Insert, Unwrap
from tfmigrate.plan.names.public_names import public_names
from tfmigrate.understand.program import Module, Unit, dotted, imports_of, only_statement, units_of
from tfmigrate.walk import comments_in

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


def in_try(module: Module, unit: Unit) -> bool:
    """Whether a statement stands in a `try`, whose failing the script may expect."""
    return any(isinstance(owner, cst.Try) for owner in module.ancestors(unit))


def plan_import(
    statement: cst.Import | cst.ImportFrom,
    moves: Moves,
    dropped: frozenset[cst.ImportAlias],
    kept: frozenset[cst.ImportAlias],
    wrapper: frozenset[cst.ImportAlias],
    earlier: Set[str],
    renamed: Container[cst.ImportAlias] = frozenset(),
) -> ImportChange | None:
    """What becomes of one import statement; None where nothing does.

    `dropped` are aliases nothing uses any more, `kept` those of multi_gpu_model that something still uses, `wrapper`
    all that are multi_gpu_model;
    `earlier` are the lines that came of the imports before it in the blocks round it, so that none stands twice there;
    `renamed` are those that get their current name where they are used, too.
    """
    if isinstance(statement, cst.ImportFrom) and isinstance(statement.names, cst.ImportStar):
        return _star(statement, moves)
    parts: dict[str, list[cst.ImportAlias | str]] = {}
    removed, staying, moved = [], [], []
    for alias, bound, full in imports_of(statement):
        real = dotted(alias.name) if isinstance(statement, cst.Import) else full
        if alias in kept:
            staying.append(bound)
            _add(parts, real, alias, statement, real, bound)
            continue
        if alias in dropped:
            if alias in wrapper:
                removed.append(bound)
            continue
        new = moves.imported(real) if not real.startswith(".") else real
        if new != real:
            moved.append((real, new))
        binds_root = isinstance(statement, cst.Import) and alias.asname is None
        gone = binds_root and real.endswith(".multi_gpu_utils")
        if gone and new == real:
            removed.append(bound)
        if binds_root and (gone or new != real):
            new = moves.imported(bound)  # `import keras.layers` binds `keras`
        _add(parts, real, alias, statement, new, new.rpartition(".")[2] if alias in renamed else bound)
    if not removed and not moved and not staying and not any(a in dropped for a, _, _ in imports_of(statement)):
        return None
    changed = bool(moved) or bool(removed) or any(alias in dropped for alias, _, _ in imports_of(statement))
    import_parts: list[ImportPart] = []
    lines: list[str] = []
    for module, listed in parts.items():
        line = f"{module}:{','.join(n if isinstance(n, str) else dotted(n.name) for n in listed)}"
        if moved and line in (*earlier, *lines) and all(isinstance(name, str) for name in listed):
            continue
        lines.append(line)
        import_parts.append(ImportPart(module, tuple(listed)))
    edit = ImportNames(statement, tuple(import_parts)) if changed else None
    return ImportChange(edit, statement, tuple(removed), tuple(staying), tuple(moved), tuple(lines))


def _add(
    parts: dict[str, list[cst.ImportAlias | str]],
    old: str,
    alias: cst.ImportAlias,
    statement: cst.Import | cst.ImportFrom,
    new: str,
    bound: str,
) -> None:
    """Write `new` bound to `bound`, with the old alias node where its text still holds."""
    if isinstance(statement, cst.Import):
        if new == old:
            parts.setdefault("", []).append(alias)
            return
        head, _, last = new.rpartition(".")
        parts.setdefault(head, []).append(last if last == bound else f"{last} as {bound}")
        return
    head, _, last = new.rpartition(".")
    if old.startswith(".") and new == old:
        head = "." * len(statement.relative) + dotted(statement.module)
    if last == dotted(alias.name):
        parts.setdefault(head, []).append(alias)
    else:
        parts.setdefault(head, []).append(last if last == bound else f"{last} as {bound}")


def _star(statement: cst.ImportFrom, moves: Moves) -> ImportChange | None:
    if statement.relative:
        return None
    old = dotted(statement.module)
    new = moves.imported(old)
    if new == old:
        return None
    return ImportChange(ImportNames(statement, (ImportPart(new, ("*",)),)), statement, (), (), ((old, new),), ())


_WIDTH = 100
"""A line of imports is not made longer than this; one in brackets has its names on a line of their own."""


def joined_imports(module: Module, edits: Iterable[Edit]) -> list[Edit]:
    """The edits, with imports that come to be of one module, on neighbouring lines, made one statement."""
    edits = _taken_in(edits)
    changed = {edit.node: edit for edit in edits if isinstance(edit, ImportNames)}
    for block in dict.fromkeys(place.block for place in module.places.values()):
        last: ImportNames | None = None
        for unit in units_of(block):
            statement = only_statement(unit)
            edit = changed.get(statement) if isinstance(statement, cst.Import | cst.ImportFrom) else None
            if edit is not None and not edit.parts:
                continue  # The whole statement goes.
            joined = _joined(last, edit, unit)
            if joined is None:
                last = edit
                continue
            assert last is not None
            assert edit is not None
            changed[last.node], changed[edit.node] = joined, ImportNames(edit.node)
            last = joined
    return [changed[edit.node] if isinstance(edit, ImportNames) else edit for edit in edits]


def _taken_in(edits: Iterable[Edit]) -> list[Edit]:
    """The edits, with names that are imported above an import of the same module taken into that."""
    edits = list(edits)
    changed = {edit.node: edit for edit in edits if isinstance(edit, ImportNames)}
    dropped: set[int] = set()
    for place, edit in enumerate(edits):
        statement = only_statement(edit.before) if isinstance(edit, Insert) else None
        if not isinstance(edit, Insert) or not isinstance(statement, cst.ImportFrom):
            continue
        now = changed.get(statement) or _as_it_is(statement)
        if now is None or len(now.parts) != 1 or not edit.text.startswith(f"from {now.parts[0].module} import "):
            continue
        part = now.parts[0]
        names = edit.text.removeprefix(f"from {part.module} import ").split(", ")
        listed: tuple[cst.ImportAlias | str, ...] = (*part.names, *names)
        if statement.lpar is not None:
            listed = tuple(_as_listed(statement, part, names))
        if listed and (statement.lpar is not None or _fits(listed)):
            changed[statement] = ImportNames(statement, (ImportPart(part.module, listed),))
            dropped.add(place)
    kept = [edit for place, edit in enumerate(edits) if place not in dropped and not isinstance(edit, ImportNames)]
    return [*kept, *changed.values()]


def _fits(names: Iterable[cst.ImportAlias | str]) -> bool:
    """Whether the names fit on one line, which they are given in brackets where they do not fit behind their module."""
    return len(f"    {', '.join(map(_code, names))}") <= _WIDTH


def _as_listed(statement: cst.ImportFrom, part: ImportPart, names: Iterable[str]) -> Iterator[cst.ImportAlias]:
    """The names of an import in brackets and further ones, each on a line of its own where the others are; none where
    what is there is not kept as it is written."""
    assert not isinstance(statement.names, cst.ImportStar)
    kept = [name for name in part.names if isinstance(name, cst.ImportAlias)]
    if len(kept) < len(part.names) or not kept or comments_in(statement):
        return
    between = [alias.comma for alias in statement.names[:-1] if isinstance(alias.comma, cst.Comma)]
    comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    if between and all(map(_breaks, between)):
        comma = between[0]
    yield from kept[:-1]
    yield kept[-1].with_changes(comma=comma)
    yield from (cst.ImportAlias(cst.Name(name), comma=comma) for name in names)


def _breaks(comma: cst.Comma) -> bool:
    """Whether a comma ends its line, without a comment."""
    space = comma.whitespace_after
    return isinstance(space, cst.ParenthesizedWhitespace) and not comments_in(space)


def _as_it_is(statement: cst.ImportFrom) -> ImportNames | None:
    """An import as an edit that changes nothing."""
    if isinstance(statement.names, cst.ImportStar):
        return None
    module = "." * len(statement.relative) + (dotted(statement.module) or "")
    return ImportNames(statement, (ImportPart(module, tuple(statement.names)),))


def _joined(edit: ImportNames | None, other: ImportNames | None, unit: Unit) -> ImportNames | None:
    """Two statements as one, where both import from the same module and the second has no comment of its own."""
    if edit is None or other is None or len(edit.parts) != 1 or len(other.parts) != 1:
        return None
    (first,), (second,) = edit.parts, other.parts
    old = _module_in_one_line(edit), _module_in_one_line(other)
    if None in old or old[0] == old[1] or not first.module or first.module != second.module:
        return None
    if comments_in(unit) or list(getattr(unit, "leading_lines", ())):
        return None
    if any(" as " in _code(name) for name in (*first.names, *second.names)):
        return None
    listed = (*first.names, *(name for name in second.names if _code(name) not in map(_code, first.names)))
    if not _fits(listed):
        return None
    return ImportNames(edit.node, (ImportPart(first.module, listed),))


def _module_in_one_line(edit: ImportNames) -> str | None:
    """The module of `from module import names`, as it was; None for other forms, and for names in parentheses."""
    node = edit.node
    if not isinstance(node, cst.ImportFrom) or node.lpar is not None or isinstance(node.names, cst.ImportStar):
        return None
    return dotted(node.module) or None


def _code(name: cst.ImportAlias | str) -> str:
    alias = name if isinstance(name, str) else name.with_changes(comma=cst.MaybeSentinel.DEFAULT)
    return alias if isinstance(alias, str) else cst.Module([]).code_for_node(alias)


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
