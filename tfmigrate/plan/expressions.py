"""Carrying an expression to another place of the program, where its names must mean the same."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping

import libcst as cst

from tfmigrate.understand.program import Module, units_of
from tfmigrate.understand.scopes import Occurrence, Scopes
from tfmigrate.understand.values import Frame
from tfmigrate.walk import walk

_PURE_CALLS = frozenset({"len", "int", "str", "max", "min", "list", "range", "float", "bool", "abs", "tuple"})
_PURE_METHODS = frozenset({"split", "get", "strip", "getenv", "backend"})


class Carrier:
    """Expresses what an expression means, at another place of the program."""

    def __init__(self, scopes: Mapping[Module, Scopes]) -> None:
        self._scopes = scopes

    def carried(self, node: cst.BaseExpression, source: Frame, target: Frame, before: cst.CSTNode) -> str | None:
        """Code for `node` (standing in `source`) that gives the same value just before the unit `before` of `target`.

        None where that cannot be shown: a name is bound later, or more than once, or its caller is not in sight.
        """
        text = source.module.code(node)
        replaced = _Substitution(self, source, target, before, 0)
        try:
            tree = replaced.visit(ast.parse(text.strip(), mode="eval").body)
        except _Unavailable:
            return None
        return ast.unparse(tree) if replaced.changed else text

    def _meaning(
        self, node: cst.BaseExpression, source: Frame, target: Frame, before: cst.CSTNode, depth: int
    ) -> ast.expr:
        """As carried, as a tree. Raises _Unavailable."""
        tree = ast.parse(source.module.code(node).strip(), mode="eval").body
        found = _Substitution(self, source, target, before, depth).visit(tree)
        assert isinstance(found, ast.expr)
        return found

    def name(self, name: str, source: Frame, target: Frame, before: cst.CSTNode, depth: int) -> ast.expr | None:
        """What to write for a plain name; None to keep it. Raises _Unavailable."""
        if depth > 8:
            raise _Unavailable
        scopes = self._scopes[source.module]
        scope = scopes.by_node[source.function or source.module.tree]
        owner = scopes.owner(name, scope)
        if owner is None:
            if hasattr(builtins, name):
                return None
            raise _Unavailable
        bindings = [mention for mention in scopes.of_variable(name, scope) if mention.binds]
        here = source.module is target.module
        if here and isinstance(owner.node, cst.Module) and target.function is not None:
            return None
        in_target = here and owner.node is (target.function or target.module.tree)
        if in_target and all(self._precedes(binding, before, target.module) for binding in bindings):
            return None
        if len(bindings) != 1:
            raise _Unavailable
        parameter = self._parameter(name, source) if owner.node is source.function and source is not target else None
        if parameter is not None:
            assert source.call is not None
            return self._meaning(parameter, source.call.frame, target, before, depth + 1)
        value = assigned(bindings[0])
        if value is None or not is_pure(value):
            raise _Unavailable
        return self._meaning(value, source, target, before, depth + 1)

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
    def __init__(self, carrier: Carrier, source: Frame, target: Frame, before: cst.CSTNode, depth: int) -> None:
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
        if not self._carrier.attribute_is_settled(text, self._target, self._before):
            raise _Unavailable
        self.generic_visit(node)
        return node


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
