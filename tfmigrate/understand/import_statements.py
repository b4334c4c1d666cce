"""Import statements: which stand in a line, and what each binds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

import libcst as cst

from tfmigrate.understand.syntax import dotted


def imports_at(unit: cst.CSTNode) -> list[cst.Import | cst.ImportFrom]:
    """The imports that a line holds."""
    smalls = unit.body if isinstance(unit, cst.SimpleStatementLine | cst.SimpleStatementSuite) else ()
    return [small for small in smalls if isinstance(small, cst.Import | cst.ImportFrom)]


def imports_of(statement: cst.Import | cst.ImportFrom) -> Iterator[tuple[cst.ImportAlias, str, str]]:
    """(alias node, bound name, qualified name) for each name an import binds; relative ones start with dots."""
    if isinstance(statement, cst.Import):
        for alias in statement.names:
            full = dotted(alias.name)
            if alias.asname is not None:
                yield alias, dotted(alias.asname.name), full
            else:
                yield alias, full.split(".", 1)[0], full.split(".", 1)[0]
    elif not isinstance(statement.names, cst.ImportStar):
        head = "." * len(statement.relative) + dotted(statement.module)
        for alias in statement.names:
            name = dotted(alias.name)
            bound = dotted(alias.asname.name) if alias.asname is not None else name
            yield alias, bound, f"{head}.{name}" if not head.endswith(".") else head + name


def packages_of(statement: cst.Import | cst.ImportFrom) -> set[str]:
    """The packages that an import takes something from, a star import too: the first words of its names."""
    source = [dotted(statement.module)] if isinstance(statement, cst.ImportFrom) else []
    return {full.split(".")[0] for full in (*source, *(full for _, _, full in imports_of(statement)))}


def is_star_import(statement: cst.CSTNode | None) -> TypeGuard[cst.ImportFrom]:
    """Whether a statement is `from somewhere import *`."""
    return isinstance(statement, cst.ImportFrom) and isinstance(statement.names, cst.ImportStar)
