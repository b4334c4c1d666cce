"""Carrying an expression to another place of the program, where its names must mean the same."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence

import libcst as cst

from tfmigrate.understand.program import Module, Unit, only_statement, units_of
from tfmigrate.understand.scopes import Occurrence, Scopes
from tfmigrate.understand.values import ClassValue, Frame, Site
from tfmigrate.walk import walk

_PURE_CALLS = frozenset({"len", "int", "str", "max", "min", "list", "range", "float", "bool", "abs", "tuple"})
_PURE_METHODS = frozenset({"split", "get", "strip", "getenv", "backend"})


class Carrier:
    """Expresses what an expression means, at another place of the program."""

    def __init__(self, scopes: Mapping[Module, Scopes]) -> None:
        self._scopes = scopes

    def carried(self, node: cst.BaseExpression, source: Site, target: Frame, before: cst.CSTNode) -> str | None:
        """Code for `node` (standing at `source`) that gives the same value just before the unit `before` of `target`.

        None where that cannot be shown: a name is bound in between, or on some paths only, or its caller is not in
        sight.
        """
        text = source.frame.module.code(node)
        replaced = _Substitution(self, source, target, before, 0)
        try:
            tree = replaced.visit(ast.parse(text.strip(), mode="eval").body)
        except _Unavailable:
            return None
        return ast.unparse(tree) if replaced.changed else text

    def _meaning(
        self, node: cst.BaseExpression, source: Site, target: Frame, before: cst.CSTNode, depth: int
    ) -> ast.expr:
        """As carried, as a tree. Raises _Unavailable."""
        tree = ast.parse(source.frame.module.code(node).strip(), mode="eval").body
        found = _Substitution(self, source, target, before, depth).visit(tree)
        assert isinstance(found, ast.expr)
        return found

    def name(self, name: str, source: Site, target: Frame, before: cst.CSTNode, depth: int) -> ast.expr | None:
        """What to write for a plain name; None to keep it. Raises _Unavailable."""
        if depth > 8:
            raise _Unavailable
        frame = source.frame
        scopes = self._scopes[frame.module]
        scope = scopes.by_node[frame.function or frame.module.tree]
        owner = scopes.owner(name, scope)
        if owner is None:
            if hasattr(builtins, name):
                return None
            raise _Unavailable
        bindings = [mention for mention in scopes.of_variable(name, scope) if mention.binds]
        here = frame.module is target.module
        if here and isinstance(owner.node, cst.Module) and target.function is not None:
            return None
        in_target = here and owner.node is (target.function or target.module.tree)
        if in_target and all(self._is_settled(binding, source, target, before) for binding in bindings):
            return None
        binding = self._reaching(bindings, source)
        if binding.unit is owner.node is frame.function and frame is not target:
            parameter = self._parameter(name, frame)
            if parameter is None or frame.call is None:
                raise _Unavailable
            return self._meaning(parameter, frame.call, target, before, depth + 1)
        value = assigned(binding)
        if value is None or not is_pure(value):
            raise _Unavailable
        return self._meaning(value, Site(frame, binding.unit), target, before, depth + 1)

    def _is_settled(self, binding: Occurrence, source: Site, target: Frame, before: cst.CSTNode) -> bool:
        """Whether a binding leaves the name the same at `before` and at `source`."""
        if not self._precedes(binding, before, target.module):
            return False
        if source.frame is not target or binding.unit is binding.scope.node:
            return True
        order = target.module.order
        return order[binding.unit] < order[source.unit] or order[source.unit] >= order[before]

    def _reaching(self, bindings: Sequence[Occurrence], source: Site) -> Occurrence:
        """The one binding whose value the name has at `source`. Raises _Unavailable."""
        if len(bindings) == 1:
            return bindings[0]
        module = source.frame.module
        round_it = dict(module.arms(source.unit))
        loops = {owner for owner in round_it if isinstance(owner, cst.For | cst.While)}
        function = source.frame.function or module.tree

        def when(binding: Occurrence) -> int:
            """Its place in the order of the function's units; a parameter comes before all of them."""
            return -1 if binding.unit is function else module.order[binding.unit]

        for binding in bindings:
            if binding.scope.node is not function:
                raise _Unavailable
            if binding.unit is not function and loops & set(module.ancestors(binding.unit)):
                raise _Unavailable
        earlier = [binding for binding in bindings if when(binding) < module.order[source.unit]]
        if not earlier:
            raise _Unavailable
        last = max(earlier, key=when)
        conditions = module.arms(last.unit) if last.unit is not function else ()
        if any(round_it.get(owner) is not block for owner, block in conditions):
            raise _Unavailable
        return last

    @staticmethod
    def _precedes(binding: Occurrence, before: cst.CSTNode, module: Module) -> bool:
        """Whether a binding is done with before `before` begins."""
        if isinstance(binding.scope.node, cst.FunctionDef) and binding.unit is binding.scope.node:
            return True
        if before in module.ancestors(binding.unit) or binding.unit is before:
            return False
        return module.order[binding.unit] < module.order[before]

    def attribute_is_settled(self, text: str, target: Frame, before: cst.CSTNode) -> bool:
        """Whether `self.gpus` or `args.gpus` is assigned nowhere at or after `before` in the same function."""
        module = target.module
        body = target.function.body if isinstance(target.function, cst.FunctionDef) else module.tree
        later = (u for u in units_of(body) if module.order[u] >= module.order[self._at(before, body, module)])
        return not any(_assigns(unit, text, module) for unit in later)

    @staticmethod
    def same_object(name: str, source: Frame, target: Frame) -> str | None:
        """What `self` of one method is called in another one of the same object, which built what the first wraps."""
        if source.owner is None or target.owner is None or name != _receiver(source.function):
            return None
        related = set(source.owner.ancestors()) & set(target.owner.ancestors())
        return _receiver(target.function) if related else None

    def attribute_is_early(self, name: str, source: Frame, target: Frame, before: cst.CSTNode) -> bool:
        """Whether an attribute of the object that both methods belong to has its value for good just before `before`.

        It has when it is set in __init__ alone, and __init__ is over by then or past that line.
        """
        assert source.owner is not None
        assert target.owner is not None
        owners = dict.fromkeys((*target.owner.ancestors(), *source.owner.ancestors()))
        setters = [(method, unit) for cls in owners for method, unit in _setters(cls, name)]
        if not setters or any(method.name.value != "__init__" for method, _ in setters):
            return False
        here = Site(target, before)  # type: ignore[arg-type]
        for site in here.chain():
            order = site.frame.module.order
            if any(method is site.frame.function and order[unit] >= order[site.unit] for method, unit in setters):
                return False
        return True

    @staticmethod
    def _at(unit: cst.CSTNode, body: cst.Module | cst.BaseSuite, module: Module) -> cst.CSTNode:
        """The unit of `body` that holds `unit`."""
        return next(one for one in (unit, *module.ancestors(unit)) if module.places[one].block is body)

    @staticmethod
    def _parameter(name: str, source: Frame) -> cst.BaseExpression | None:
        """The expression a caller passes for a parameter, or its default."""
        function, call = source.function, source.call_node
        if not isinstance(function, cst.FunctionDef) or call is None or any(arg.star for arg in call.args):
            return None
        params = [*function.params.posonly_params, *function.params.params]
        names = [param.name.value for param in params]
        if names[:1] == ["self"] and isinstance(call.func, cst.Attribute):
            if name == "self":
                return call.func.value
            names, params = names[1:], params[1:]
        elif names[:1] == ["self"]:
            if name == "self":
                return None
            names, params = names[1:], params[1:]
        for arg in call.args:
            if arg.keyword is not None and arg.keyword.value == name:
                return arg.value
        positional = [arg.value for arg in call.args if arg.keyword is None]
        if name in names and names.index(name) < len(positional):
            return positional[names.index(name)]
        for param in (*params, *function.params.kwonly_params):
            if param.name.value == name:
                return param.default
        return None


class _Unavailable(Exception):
    pass


class _Substitution(ast.NodeTransformer):
    def __init__(self, carrier: Carrier, source: Site, target: Frame, before: cst.CSTNode, depth: int) -> None:
        self._carrier, self._source, self._target, self._before = carrier, source, target, before
        self._depth = depth
        self.changed = False

    def visit_Name(self, node: ast.Name) -> ast.expr:
        found = self._carrier.name(node.id, self._source, self._target, self._before, self._depth)
        if found is None:
            return node
        self.changed = True
        return found

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        text = ast.unparse(node)
        if isinstance(node.value, ast.Name) and self._source.frame is not self._target:
            receiver = self._carrier.same_object(node.value.id, self._source.frame, self._target)
            if receiver is not None:
                if not self._carrier.attribute_is_early(node.attr, self._source.frame, self._target, self._before):
                    raise _Unavailable
                self.changed = True
                return ast.Attribute(ast.Name(receiver, ast.Load()), node.attr, ast.Load())
        if not self._carrier.attribute_is_settled(text, self._target, self._before):
            raise _Unavailable
        self.generic_visit(node)
        return node


def _receiver(function: cst.CSTNode | None) -> str | None:
    """The name a method has for its object."""
    if not isinstance(function, cst.FunctionDef):
        return None
    parameters = [*function.params.posonly_params, *function.params.params]
    return parameters[0].name.value if parameters else None


def _setters(cls: ClassValue, name: str) -> Iterator[tuple[cst.FunctionDef, Unit]]:
    """The methods of a class that assign to an attribute of their object, and the statements that do."""
    module = cls.closure.module
    for method in units_of(cls.node.body):
        if not isinstance(method, cst.FunctionDef):
            continue
        text = f"{_receiver(method)}.{name}"
        for unit in module.inside(method):
            if isinstance(unit, cst.SimpleStatementLine | cst.SimpleStatementSuite) and _assigns(unit, text, module):
                yield method, unit


def _assigns(unit: cst.CSTNode, text: str, module: Module) -> bool:
    """Whether a unit assigns to an attribute written as `text`."""
    return any(
        isinstance(part, cst.AssignTarget)
        and isinstance(part.target, cst.Attribute)
        and module.code(part.target) == text
        for part in walk(unit)
    )


def assigned(binding: Occurrence) -> cst.BaseExpression | None:
    """The expression a name is bound to by a plain `name = expression`."""
    if not isinstance(binding.unit, cst.SimpleStatementLine):
        return None
    for small in binding.unit.body:
        if isinstance(small, cst.Assign) and any(target.target is binding.node for target in small.targets):
            return small.value
    return None


def sole_assignment(binding: Occurrence) -> cst.Assign | None:
    """The `name = value`, alone on its line, that binds a name."""
    small = only_statement(binding.unit)
    if isinstance(small, cst.Assign) and len(small.targets) == 1 and small.targets[0].target is binding.node:
        return small
    return None


def is_pure(node: cst.BaseExpression) -> bool:
    """Whether evaluating an expression twice, or not at all, changes nothing."""
    return not any(
        isinstance(part, cst.NamedExpr | cst.Await | cst.Yield)
        or (isinstance(part, cst.Call) and not _is_pure_call(part))
        for part in walk(node)
    )


def _is_pure_call(call: cst.Call) -> bool:
    if isinstance(call.func, cst.Name):
        return call.func.value in _PURE_CALLS
    return isinstance(call.func, cst.Attribute) and call.func.attr.value in _PURE_METHODS
