"""Modules that belong together, and which of them an import means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath

import libcst as cst

from tfmigrate.importing import paths_of
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

    def source(self, statement: cst.ImportFrom, importer: Module) -> Module | None:
        """The module of this program that `from source import ...` takes names from."""
        return self.imported(dotted(statement.module), len(statement.relative), importer)
