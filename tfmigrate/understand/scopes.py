"""Variables as Python scopes them: every place that binds or reads a name, closures and comprehensions included."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import libcst as cst

from tfmigrate.understand.program import Module, Unit, imports_of

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


class _Reader(cst.CSTVisitor):
    def __init__(self, module: Module, scopes: Scopes) -> None:
        super().__init__()
        self._module = module
        self._scopes = scopes
        self._scope = scopes.module
        self._units: list[Unit] = []
        self._binding: set[cst.CSTNode] = set()
        self._silent: set[cst.CSTNode] = set()

    def on_visit(self, node: cst.CSTNode) -> bool:
        if node in self._module.places:
            self._units.append(node)  # type: ignore[arg-type]
        return super().on_visit(node)

    def on_leave(self, original_node: cst.CSTNode) -> None:
        super().on_leave(original_node)
        if original_node in self._module.places:
            self._units.pop()

    # ---- what binds ----

    def _bind(self, target: cst.CSTNode) -> None:
        if isinstance(target, cst.Name):
            self._binding.add(target)
        elif isinstance(target, cst.Tuple | cst.List):
            for element in target.elements:
                self._bind(element.value)
        elif isinstance(target, cst.StarredElement):
            self._bind(target.value)

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        self._bind(node.target)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        self._bind(node.target)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self._bind(node.target)

    def visit_NamedExpr(self, node: cst.NamedExpr) -> None:
        self._bind(node.target)

    def visit_For(self, node: cst.For) -> None:
        self._bind(node.target)

    def visit_CompFor(self, node: cst.CompFor) -> None:
        self._bind(node.target)

    def visit_AsName(self, node: cst.AsName) -> None:
        self._bind(node.name)

    def visit_Del(self, node: cst.Del) -> None:
        self._bind(node.target)

    def visit_Param(self, node: cst.Param) -> None:
        self._binding.add(node.name)

    def visit_Import(self, node: cst.Import) -> bool:
        return self._import(node)

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        return self._import(node)

    def _import(self, node: cst.Import | cst.ImportFrom) -> bool:
        for alias, bound, _ in imports_of(node):
            self._mention(bound, alias, binds=True)
        return False

    def visit_Global(self, node: cst.Global) -> bool:
        self._scope.elsewhere.update(item.name.value for item in node.names)
        return False

    def visit_Nonlocal(self, node: cst.Nonlocal) -> bool:
        self._scope.elsewhere.update(item.name.value for item in node.names)
        return False

    # ---- what is no variable ----

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        self._silent.add(node.attr)
        return True

    def visit_Arg(self, node: cst.Arg) -> bool:
        if node.keyword is not None:
            self._silent.add(node.keyword)
        return True

    def visit_Name(self, node: cst.Name) -> bool:
        if node not in self._silent:
            self._mention(node.value, node, binds=node in self._binding)
        return False

    def _mention(self, name: str, node: cst.CSTNode, *, binds: bool) -> None:
        scope = self._scope
        scope.mentions.setdefault(name, []).append(Occurrence(node, self._units[-1], binds, scope))
        if binds:
            scope.bound.add(name)

    # ---- scopes ----

    def _enter(self, node: ScopeNode) -> None:
        self._scope = LexicalScope(node, self._scope)
        self._scopes.by_node[node] = self._scope

    def _exit(self) -> None:
        assert self._scope.parent is not None
        self._scope = self._scope.parent

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        self._mention(node.name.value, node.name, binds=True)
        for decorator in node.decorators:
            decorator.visit(self)
        self._defaults(node.params)
        self._enter(node)
        self._silence_defaults(node.params)
        node.params.visit(self)
        node.body.visit(self)
        self._exit()
        return False

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        self._defaults(node.params)
        self._enter(node)
        self._silence_defaults(node.params)
        node.params.visit(self)
        node.body.visit(self)
        self._exit()
        return False

    def _defaults(self, params: cst.Parameters) -> None:
        for param in (*params.posonly_params, *params.params, *params.kwonly_params):
            if param.default is not None:
                param.default.visit(self)

    def _silence_defaults(self, params: cst.Parameters) -> None:
        for param in (*params.posonly_params, *params.params, *params.kwonly_params):
            if param.default is not None:
                names = _Names()
                param.default.visit(names)
                self._silent.update(names.found)

    def visit_ClassDef(self, node: cst.ClassDef) -> bool:
        self._mention(node.name.value, node.name, binds=True)
        for part in (*node.decorators, *node.bases, *node.keywords):
            part.visit(self)
        self._enter(node)
        node.body.visit(self)
        self._exit()
        return False

    def visit_ListComp(self, node: cst.ListComp) -> None:
        self._enter(node)

    def leave_ListComp(self, original_node: cst.ListComp) -> None:
        self._exit()

    def visit_SetComp(self, node: cst.SetComp) -> None:
        self._enter(node)

    def leave_SetComp(self, original_node: cst.SetComp) -> None:
        self._exit()

    def visit_GeneratorExp(self, node: cst.GeneratorExp) -> None:
        self._enter(node)

    def leave_GeneratorExp(self, original_node: cst.GeneratorExp) -> None:
        self._exit()

    def visit_DictComp(self, node: cst.DictComp) -> None:
        self._enter(node)

    def leave_DictComp(self, original_node: cst.DictComp) -> None:
        self._exit()


class _Names(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: list[cst.Name] = []

    def visit_Name(self, node: cst.Name) -> None:
        self.found.append(node)


class Scopes:
    """The variables of one module."""

    def __init__(self, module: Module) -> None:
        self.module = LexicalScope(module.tree, None)
        self.by_node: dict[cst.CSTNode, LexicalScope] = {module.tree: self.module}
        module.tree.visit(_Reader(module, self))

    def owner(self, name: str, scope: LexicalScope) -> LexicalScope | None:
        """The scope whose variable `name` is meant in `scope`, or None for a builtin or an unknown name."""
        current: LexicalScope | None = scope
        while current is not None:
            visible = current is scope or not isinstance(current.node, cst.ClassDef)
            if visible and name in current.bound and name not in current.elsewhere:
                return current
            current = self.module if name in current.elsewhere and current is scope else current.parent
        return None

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
