"""Whether the files of a program fit together: what one takes from another must be defined there."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set
from pathlib import PurePath

from tfmigrate.importing import paths_of


def unresolved(files: Mapping[str, str]) -> set[tuple[str, str]]:
    """(path, "module.name") for each name that a file takes from another one, which does not define it.

    `files`: path -> text. Those that do not parse define everything, and take nothing.
    """
    program = _Program(files)
    return {(path, missing) for path in files for missing in program.missing(path)}


class _Program:
    def __init__(self, files: Mapping[str, str]) -> None:
        self._trees = {PurePath(path): _parsed(text) for path, text in files.items()}
        self._names: dict[PurePath, set[str]] = {}
        """Those that the top level of a module binds, of modules that were asked for them."""

    def missing(self, path: str) -> Iterator[str]:
        """What one file takes and does not find."""
        tree = self._trees[PurePath(path)]
        if tree is None:
            return
        modules: dict[str, PurePath] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                for alias, module in self._not_defined(node, path):
                    if module is None:
                        # `from . import name` names no module: its package does.
                        package = node.module or PurePath(path).parents[node.level - 1].name
                        yield f"{package}.{alias.name}"
                    else:
                        modules[alias.asname or alias.name] = module
            elif isinstance(node, ast.Import):
                modules.update(self._imported(node, path))
        for name, attribute in _attributes_of(tree, modules.keys()):
            if not self._has(modules[name], attribute):
                yield f"{name}.{attribute}"

    def _not_defined(self, node: ast.ImportFrom, importer: str) -> Iterator[tuple[ast.alias, PurePath | None]]:
        """What is imported from a file that does not define it, each with the module of that name, if there is one."""
        source = self._file(node.module or "", node.level, importer)
        if source is None:
            return
        for alias in node.names:
            if alias.name != "*" and not self._defines(source, alias.name, set()):
                yield alias, self._file(f"{node.module or ''}.{alias.name}", node.level, importer)

    def _imported(self, node: ast.Import, importer: str) -> Iterator[tuple[str, PurePath]]:
        """The modules of the program that an import binds a name to, each with that name."""
        for alias in node.names:
            source = self._file(alias.name, 0, importer)
            if source is not None and (alias.asname or "." not in alias.name):
                yield alias.asname or alias.name, source

    def _has(self, path: PurePath, name: str) -> bool:
        """Whether a module, once imported, has an attribute of this name, as far as can be seen."""
        submodule = path.stem == "__init__" and self._is_module(path.parent / name)
        return submodule or name.startswith("__") or self._defines(path, name, set())

    def _file(self, name: str, level: int, importer: str) -> PurePath | None:
        return next((path for path in map(PurePath, paths_of(name, level, importer)) if path in self._trees), None)

    def _is_module(self, path: PurePath) -> bool:
        return path.with_name(path.name + ".py") in self._trees or path / "__init__.py" in self._trees

    def _defines(self, path: PurePath, name: str, seen: set[PurePath]) -> bool:
        tree = self._trees[path]
        if tree is None:
            return True
        if path not in self._names:
            self._names[path] = _bound(tree)
        if name in self._names[path]:
            return True
        seen.add(path)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
                source = self._file(node.module or "", node.level, str(path))
                if source is None or (source not in seen and self._defines(source, name, seen)):
                    return True  # A library may bring it.
        return False


def _attributes_of(tree: ast.AST, names: Set[str]) -> Iterator[tuple[str, str]]:
    """Each `name.attribute` where the name is none of the parameters of a function round it."""
    pending = [(tree, names)]
    while pending:
        node, seen = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            own = {part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)}
            seen = seen - own
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in seen:
            yield node.value.id, node.attr
        pending.extend((child, seen) for child in ast.iter_child_nodes(node))


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def bound(text: str) -> set[str]:
    """The names that the top level of a module binds; none where it does not parse."""
    tree = _parsed(text)
    return _bound(tree) if tree is not None else set()


def _bound(tree: ast.Module) -> set[str]:
    """The names that a module's top level binds, in whichever block, and those that functions declare global."""
    taken: set[str] = set()
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            taken.add(node.name)
            taken.update(name for part in ast.walk(node) if isinstance(part, ast.Global) for name in part.names)
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            taken.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            taken.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            taken.add(node.name)
        pending.extend(ast.iter_child_nodes(node))
    return taken
