"""Variables as Python scopes them: every place that binds or reads a name, closures and comprehensions included."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, count

import libcst as cst

from tfmigrate.understand.blocks import Unit
from tfmigrate.understand.import_statements import imports_of
from tfmigrate.understand.module import Module
from tfmigrate.understand.parameters import nameable
from tfmigrate.walk import children

_NAMED = cst.AsName | cst.MatchAs | cst.MatchStar | cst.TypeVar | cst.TypeVarTuple | cst.ParamSpec
_CONCERNED = frozenset(
    {
        cst.Name, cst.Attribute, cst.Arg, cst.Import, cst.ImportFrom, cst.Global, cst.Nonlocal, cst.FunctionDef,
        cst.Lambda, cst.ClassDef, cst.TypeAlias, cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp,
        cst.NamedExpr, cst.MatchKeywordElement, cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For, cst.CompFor,
        cst.Del, cst.AsName, cst.MatchAs, cst.MatchStar, cst.TypeVar, cst.TypeVarTuple, cst.ParamSpec,
        cst.MatchMapping,
    }
)  # fmt: skip
"""The kinds of nodes that `_Reader` handles: looking up the kind is faster than all tests."""
"""What binds its `name`."""
ScopeNode = cst.Module | cst.FunctionDef | cst.ClassDef | cst.Lambda | cst.BaseComp | cst.TypeParameters


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
    declared_global: set[str] = field(default_factory=set)
    declared_nonlocal: set[str] = field(default_factory=set)

    @property
    def elsewhere(self) -> set[str]:
        """Names declared global or nonlocal: they are variables of a scope round this one."""
        return self.declared_global | self.declared_nonlocal

    def sees(self, outer: LexicalScope) -> bool:
        """Whether names that are looked up here may be variables of `outer`, this scope or one round it.

        Those of a class are seen in its own body, and by the type parameters of what is defined directly in it.
        """
        own = outer is self or (outer is self.parent and isinstance(self.node, cst.TypeParameters))
        return own or not isinstance(outer.node, cst.ClassDef)

    def is_inside(self, outer: LexicalScope) -> bool:
        """Whether this scope stands in `outer`, which is another one."""
        current = self.parent
        while current is not None and current is not outer:
            current = current.parent
        return current is outer


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
        if type(node) not in _CONCERNED:
            self._all(children(node))
        elif isinstance(node, cst.Name):
            self._mention(node.value, node, binds=node in self._binding)
        elif isinstance(node, cst.Attribute | cst.Arg):
            self.read(node.value)
        elif isinstance(node, cst.Import | cst.ImportFrom):
            for alias, bound, _ in imports_of(node):
                self._mention(bound, alias, binds=True)
        elif isinstance(node, cst.Global | cst.Nonlocal):
            self._declare(node)
        elif isinstance(node, cst.FunctionDef):
            self._function(node)
        elif isinstance(node, cst.Lambda):
            self._parameters(node.params)
            with self._inside(node):
                self._bind_parameters(node.params)
                self.read(node.body)
        elif isinstance(node, cst.ClassDef):
            self._class(node)
        elif isinstance(node, cst.TypeAlias):
            self._mention(node.name.value, node.name, binds=True)
            with self._with_type_parameters(node.type_parameters):
                self.read(node.value)
        elif isinstance(node, cst.ListComp | cst.SetComp | cst.DictComp | cst.GeneratorExp):
            self._comprehension(node)
        elif isinstance(node, cst.NamedExpr):
            self._named_expression(node)
        elif isinstance(node, cst.MatchKeywordElement):
            self.read(node.pattern)  # Its key is the name of an attribute.
        else:
            self._bind_targets(node)
            self._all(children(node))

    def _declare(self, node: cst.Global | cst.Nonlocal) -> None:
        names = {item.name.value for item in node.names}
        if isinstance(node, cst.Nonlocal):
            self._scope.declared_nonlocal |= names
        elif self._scope.parent is not None:  # At the top level of a module it is legal, and says what holds anyway.
            self._scope.declared_global |= names

    def _all(self, nodes: Iterable[cst.CSTNode]) -> None:
        for node in nodes:
            self.read(node)

    def _bind_targets(self, node: cst.CSTNode) -> None:
        if isinstance(node, cst.AssignTarget | cst.AnnAssign | cst.AugAssign | cst.For | cst.CompFor | cst.Del):
            self._bind(node.target)
        elif isinstance(node, _NAMED):
            self._bind(node.name)
        elif isinstance(node, cst.MatchMapping):
            self._bind(node.rest)

    def _bind(self, target: cst.CSTNode | None) -> None:
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
        self._all(param.default for param in _each(node.params) if param.default is not None)
        with self._with_type_parameters(node.type_parameters):
            annotations = [param.annotation for param in _each(node.params)]
            self._all(annotation for annotation in (*annotations, node.returns) if annotation is not None)
            with self._inside(node):
                self._bind_parameters(node.params)
                self.read(node.body)

    def _class(self, node: cst.ClassDef) -> None:
        self._mention(node.name.value, node.name, binds=True)
        self._all(node.decorators)
        with self._with_type_parameters(node.type_parameters):
            self._all((*node.bases, *node.keywords))
            with self._inside(node):
                self.read(node.body)

    def _comprehension(self, node: cst.ListComp | cst.SetComp | cst.DictComp | cst.GeneratorExp) -> None:
        """What its outermost loop runs over is evaluated round it, all else in it."""
        self.read(node.for_in.iter)
        with self._inside(node):
            self._clause(node.for_in, outermost=True)
            self._all(child for child in children(node) if child is not node.for_in)

    def _clause(self, clause: cst.CompFor, *, outermost: bool) -> None:
        self._bind(clause.target)
        self.read(clause.target)
        if not outermost:
            self.read(clause.iter)
        self._all(condition.test for condition in clause.ifs)
        if clause.inner_for_in is not None:
            self._clause(clause.inner_for_in, outermost=False)

    def _named_expression(self, node: cst.NamedExpr) -> None:
        """`name := value` binds in the function, lambda or module round the comprehensions it stands in."""
        inner = self._scope
        while isinstance(self._scope.node, cst.BaseComp) and self._scope.parent is not None:
            self._scope = self._scope.parent
        self._bind(node.target)
        self.read(node.target)
        self._scope = inner
        self.read(node.value)

    def _parameters(self, params: cst.Parameters) -> None:
        """The defaults of a lambda, which belong to the scope round it."""
        self._all(param.default for param in _each(params) if param.default is not None)

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

    @contextmanager
    def _with_type_parameters(self, parameters: cst.TypeParameters | None) -> Iterator[None]:
        if parameters is None:
            yield
            return
        with self._inside(parameters):
            self._all(parameters.params)
            yield


def _each(params: cst.Parameters) -> Iterator[cst.Param]:
    yield from nameable(params)
    for star in (params.star_arg, params.star_kwarg):
        if isinstance(star, cst.Param):
            yield star


def numbered(wanted: str, is_taken: Callable[[str], bool]) -> str:
    """`wanted`, or where that is taken the first of `wanted_2`, `wanted_3` ... that is not."""
    names = chain([wanted], (f"{wanted}_{number}" for number in count(2)))
    return next(name for name in names if not is_taken(name))


_Variables = dict[LexicalScope, list[Occurrence]]
"""The variables of one name, by the scope that each belongs to."""


class Scopes:
    """The variables of one module."""

    def __init__(self, module: Module) -> None:
        self.module = LexicalScope(module.tree, None)
        self.by_node: dict[cst.CSTNode, LexicalScope] = {module.tree: self.module}
        _Reader(module, self).read(module.tree)
        self._variables: dict[str, _Variables] = {}

    def owner(self, name: str, scope: LexicalScope) -> LexicalScope | None:
        """The scope whose variable `name` is meant in `scope`, or None for a builtin or an unknown name."""
        current: LexicalScope | None = scope
        while current is not None:
            if scope.sees(current):
                if name in current.declared_global:
                    break
                if name in current.bound and name not in current.declared_nonlocal:
                    return current
            current = current.parent
        return self.module if name in self._of_module else None

    def holding(self, node: cst.Name) -> LexicalScope | None:
        """The scope in which a name is mentioned at `node`."""
        occurrence = self.occurrence(node)
        return occurrence.scope if occurrence is not None else None

    def occurrence(self, node: cst.CSTNode) -> Occurrence | None:
        """The mention of a variable at `node`."""
        return self._occurrences.get(node)

    def in_unit(self, unit: Unit) -> Sequence[Occurrence]:
        """Every mention of a variable in a unit, without those in units inside it."""
        return self._by_unit.get(unit, ())

    def variable(self, node: cst.Name) -> tuple[str, LexicalScope | None]:
        """The variable that a name is, which all its mentions have in common."""
        mention = self.occurrence(node)
        return node.value, self.owner(node.value, mention.scope) if mention is not None else None

    def mentions_of(self, node: cst.CSTNode) -> Sequence[Occurrence]:
        """Every mention of the variable that a name is; none of what is no name of a variable."""
        mention = self._occurrences.get(node) if isinstance(node, cst.Name) else None
        return self.of_variable(node.value, mention.scope) if mention is not None else ()  # type: ignore[attr-defined]

    def of_variable(self, name: str, scope: LexicalScope) -> list[Occurrence]:
        """Every mention of the variable that `name` is in `scope`, scope by scope, in order of appearance in each."""
        return self._called(name).get(self.owner(name, scope) or scope, [])

    def bindings(self, name: str) -> list[Occurrence]:
        """Every place of the module that binds a variable of that name, whichever it is."""
        return [
            mention for scope in self._mentioning.get(name, ()) for mention in scope.mentions[name] if mention.binds
        ]

    def declared_elsewhere(self, name: str) -> bool:
        """Whether a scope declares a name global or nonlocal."""
        return name in self._declared

    def visible(self, name: str, scope: LexicalScope) -> bool:
        """Whether `name` is bound in `scope`, round it, or in a scope inside it."""
        return self.owner(name, scope) is not None or any(
            name in inner.bound and inner.is_inside(scope) for inner in self._mentioning.get(name, ())
        )

    def fresh(self, wanted: str, scope: LexicalScope, *others: str) -> str:
        """`wanted`, where that name is taken the first of `others` that is not, or `wanted` with a number behind it."""

        def is_taken(name: str) -> bool:
            return self.visible(name, scope) or self._is_brought(name, scope)

        return next((name for name in (wanted, *others) if not is_taken(name)), None) or numbered(wanted, is_taken)

    def _is_brought(self, name: str, scope: LexicalScope) -> bool:
        """Whether `scope`, or one inside it, reads a name that nothing in the module binds: a star import brings it."""
        return any(
            (declaring is scope or declaring.is_inside(scope)) and self.owner(name, declaring) is None
            for declaring in self._mentioning.get(name, ())
        )

    def _called(self, name: str) -> _Variables:
        """The variables of that name; what no scope binds counts for each scope by itself."""
        if name not in self._variables:
            variables: _Variables = {}
            for scope in self._mentioning.get(name, ()):
                variables.setdefault(self.owner(name, scope) or scope, []).extend(scope.mentions[name])
            self._variables[name] = variables
        return self._variables[name]

    @cached_property
    def _mentioning(self) -> dict[str, list[LexicalScope]]:
        """The scopes that mention each name directly, in order of appearance."""
        scopes: dict[str, list[LexicalScope]] = {}
        for scope in self.by_node.values():
            for name in scope.mentions:
                scopes.setdefault(name, []).append(scope)
        return scopes

    @cached_property
    def _occurrences(self) -> dict[cst.CSTNode, Occurrence]:
        return {
            mention.node: mention
            for scope in self.by_node.values()
            for mentions in scope.mentions.values()
            for mention in mentions
        }

    @cached_property
    def _by_unit(self) -> dict[Unit, list[Occurrence]]:
        mentions: dict[Unit, list[Occurrence]] = {}
        for mention in self._occurrences.values():
            mentions.setdefault(mention.unit, []).append(mention)
        return mentions

    @cached_property
    def _of_module(self) -> frozenset[str]:
        """The names of the module's own variables, those included that only functions bind, by `global`."""
        others = (scope.bound & scope.declared_global for scope in self.by_node.values())
        return frozenset(self.module.bound).union(*others)

    @cached_property
    def _declared(self) -> frozenset[str]:
        return frozenset().union(*(scope.elsewhere for scope in self.by_node.values()))
