"""Variables as Python scopes them: every place that binds or reads a name, closures and comprehensions included."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import libcst as cst

from tfmigrate.understand.program import Module, Unit, captures, imports_of
from tfmigrate.walk import children

ScopeNode = cst.Module | cst.FunctionDef | cst.ClassDef | cst.Lambda | cst.BaseComp


@dataclass(eq=False)
class Occurrence:
    """One mention of a variable."""

    node: cst.CSTNode
    """The Name, or the ImportAlias that binds it."""
    unit: Unit
    binds: bool
    scope: LexicalScope


@dataclass(eq=False)
class LexicalScope:
    """One Python scope and the names mentioned directly in it."""

    node: ScopeNode
    parent: LexicalScope | None
    mentions: dict[str, list[Occurrence]] = field(default_factory=dict)
    bound: set[str] = field(default_factory=set)
    elsewhere: set[str] = field(default_factory=set)
    """Names declared global or nonlocal."""


class _Reader:
    """Reads a module's tree once, from top to bottom."""

    def __init__(self, module: Module, scopes: Scopes) -> None:
        self._module = module
        self._scopes = scopes
        self._scope = scopes.module
        self._units: list[Unit] = []
        self._binding: set[cst.CSTNode] = set()

    def read(self, node: cst.CSTNode) -> None:
        """Note every mention of a variable in a node."""
        if node in self._module.places:
            self._units.append(node)  # type: ignore[arg-type]
            self._read(node)
            self._units.pop()
        else:
            self._read(node)

    def _read(self, node: cst.CSTNode) -> None:
        if isinstance(node, cst.Name):
            self._mention(node.value, node, binds=node in self._binding)
        elif isinstance(node, cst.Attribute | cst.Arg):
            self.read(node.value)
        elif isinstance(node, cst.Import | cst.ImportFrom):
            for alias, bound, _ in imports_of(node):
                self._mention(bound, alias, binds=True)
        elif isinstance(node, cst.Global | cst.Nonlocal):
            self._scope.elsewhere.update(item.name.value for item in node.names)
        elif isinstance(node, cst.FunctionDef):
            self._function(node)
        elif isinstance(node, cst.Lambda):
            self._parameters(node.params)
            with self._inside(node):
                self._bind_parameters(node.params)
                self.read(node.body)
        elif isinstance(node, cst.ClassDef):
            self._mention(node.name.value, node.name, binds=True)
            self._all((*node.decorators, *node.bases, *node.keywords))
            with self._inside(node):
                self.read(node.body)
        elif isinstance(node, cst.ListComp | cst.SetComp | cst.DictComp | cst.GeneratorExp):
            with self._inside(node):
                self.read(node.for_in)
                self._all(child for child in children(node) if child is not node.for_in)
        else:
            self._bind_targets(node)
            self._all(children(node))

    def _all(self, nodes: Iterable[cst.CSTNode]) -> None:
        for node in nodes:
            self.read(node)

    def _bind_targets(self, node: cst.CSTNode) -> None:
        if isinstance(
            node, cst.AssignTarget | cst.AnnAssign | cst.AugAssign | cst.NamedExpr | cst.For | cst.CompFor | cst.Del
        ):
            self._bind(node.target)
        elif isinstance(node, cst.AsName):
            self._bind(node.name)
        elif isinstance(node, cst.MatchPattern):
            self._binding.update(captures(node))

    def _bind(self, target: cst.CSTNode) -> None:
        if isinstance(target, cst.Name):
            self._binding.add(target)
        elif isinstance(target, cst.Tuple | cst.List):
            for element in target.elements:
                self._bind(element.value)
        elif isinstance(target, cst.StarredElement):
            self._bind(target.value)

    def _mention(self, name: str, node: cst.CSTNode, *, binds: bool) -> None:
        scope = self._scope
        scope.mentions.setdefault(name, []).append(Occurrence(node, self._units[-1], binds, scope))
        if binds:
            scope.bound.add(name)

    def _function(self, node: cst.FunctionDef) -> None:
        self._mention(node.name.value, node.name, binds=True)
        self._all(node.decorators)
        self._parameters(node.params)
        with self._inside(node):
            self._bind_parameters(node.params)
            self.read(node.body)

    def _parameters(self, params: cst.Parameters) -> None:
        """Defaults and annotations, which belong to the scope round the function."""
        for param in _each(params):
            self._all(part for part in (param.default, param.annotation) if part is not None)

    def _bind_parameters(self, params: cst.Parameters) -> None:
        for param in _each(params):
            self._mention(param.name.value, param.name, binds=True)

    @contextmanager
    def _inside(self, node: ScopeNode) -> Iterator[None]:
        outer = self._scope
        self._scope = LexicalScope(node, outer)
        self._scopes.by_node[node] = self._scope
        yield
        self._scope = outer


def _each(params: cst.Parameters) -> Iterator[cst.Param]:
    yield from (*params.posonly_params, *params.params, *params.kwonly_params)
    for star in (params.star_arg, params.star_kwarg):
        if isinstance(star, cst.Param):
            yield star


class Scopes:
    """The variables of one module."""

    def __init__(self, module: Module) -> None:
        self.module = LexicalScope(module.tree, None)
        self.by_node: dict[cst.CSTNode, LexicalScope] = {module.tree: self.module}
        _Reader(module, self).read(module.tree)

    def owner(self, name: str, scope: LexicalScope) -> LexicalScope | None:
        """The scope whose variable `name` is meant in `scope`, or None for a builtin or an unknown name."""
        current: LexicalScope | None = scope
        while current is not None:
            visible = current is scope or not isinstance(current.node, cst.ClassDef)
            if visible and name in current.bound and name not in current.elsewhere:
                return current
            current = self.module if name in current.elsewhere and current is scope else current.parent
        return None

    def holding(self, node: cst.Name) -> LexicalScope | None:
        """The scope in which a name is mentioned at `node`."""
        scopes = self.by_node.values()
        return next((s for s in scopes if any(m.node is node for m in s.mentions.get(node.value, ()))), None)

    def of_variable(self, name: str, scope: LexicalScope) -> list[Occurrence]:
        """Every mention of the variable that `name` is in `scope`, in order of appearance."""
        home = self.owner(name, scope) or scope
        return [
            occurrence
            for candidate in self.by_node.values()
            for occurrence in candidate.mentions.get(name, ())
            if (self.owner(name, candidate) or candidate) is home
        ]

    def visible(self, name: str, scope: LexicalScope) -> bool:
        """Whether `name` is bound in `scope`, round it, or in a scope inside it."""
        return self.owner(name, scope) is not None or any(name in inner.bound for inner in self._below(scope))

    def _below(self, scope: LexicalScope) -> Iterator[LexicalScope]:
        for candidate in self.by_node.values():
            current = candidate.parent
            while current is not None and current is not scope:
                current = current.parent
            if current is scope:
                yield candidate

    def fresh(self, wanted: str, scope: LexicalScope) -> str:
        """`wanted`, or with a number behind it where that name is taken."""
        name, number = wanted, 2
        while self.visible(name, scope):
            name, number = f"{wanted}_{number}", number + 1
        return name
