"""Modules that belong together, and which of them an import means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

import libcst as cst

from tfmigrate.importing import paths_of
from tfmigrate.understand.import_statements import is_star_import
from tfmigrate.understand.module import Module
from tfmigrate.understand.syntax import dotted


class Program:
    """Modules that belong together, and which of them an import means."""

    def __init__(self, modules: Sequence[Module]) -> None:
        self.modules = tuple(modules)
        self._by_path: Mapping[str, Module] = {str(PurePath(module.path)): module for module in modules}

    def imported(self, name: str, level: int, importer: Module) -> Module | None:
        """The module of this program that `import name` means in `importer`; `level` counts the leading dots."""
        modules = (self._by_path.get(path) for path in paths_of(name, level, importer.path, importer.folders_added))
        return next((module for module in modules if module is not None), None)

    def source(self, statement: cst.Import | cst.ImportFrom, importer: Module) -> Module | None:
        """The module of this program that `from source import ...` takes names from."""
        if not isinstance(statement, cst.ImportFrom):
            return None
        return self.imported(dotted(statement.module), len(statement.relative), importer)

    def named(self, statement: cst.Import | cst.ImportFrom, alias: cst.ImportAlias, importer: Module) -> Module | None:
        """The module of this program that a name of an import is: `import a.b`, `from a import b`."""
        package, level = "", 0
        if isinstance(statement, cst.ImportFrom):
            package, level = dotted(statement.module), len(statement.relative)
        return self.imported(".".join(filter(None, (package, dotted(alias.name)))), level, importer)

    def star_source(self, star: cst.ImportFrom, importer: Module) -> Module | str:
        """What `from source import *` brings names of: a module of this program, or the name of another one."""
        return self.source(star, importer) or "." * len(star.relative) + dotted(star.module)

    def reached_by_stars(self, source: Module | str) -> Iterator[Module | str]:
        """A module, and what its star imports bring names of, by way of others too. A later import comes before an
        earlier one, whose names it hides."""
        pending = [source]
        seen: set[Module] = set()
        while pending:
            current = pending.pop()
            if isinstance(current, str):
                yield current
            elif current not in seen:
                seen.add(current)
                yield current
                statements = (statement for statement, _ in current.imports)
                pending.extend(self.star_source(one, current) for one in statements if is_star_import(one))
