"""Imports that come to be of one module are made one statement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from tfmigrate.plan.edits import Edit, ImportNames, ImportPart, Insert
from tfmigrate.understand.blocks import Unit, only_statement, units_of
from tfmigrate.understand.module import Module
from tfmigrate.understand.syntax import dotted
from tfmigrate.walk import comments_in

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
        if "*" in part.names:
            continue
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
