"""The layers of a model, the last one first."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan.change.calls import has_stars
from tfmigrate.understand.program import Module, Unit
from tfmigrate.understand.reaching import bindings_of, settled, value_of
from tfmigrate.understand.scopes import Occurrence, Scopes
from tfmigrate.understand.values import ModelObject


def layers_listed(model: ModelObject, scopes: Scopes) -> list[cst.BaseExpression] | None:
    """The layers that Sequential() is given, in order; None where that is hidden."""
    if not isinstance(model.node, cst.Call) or has_stars(model.node):
        return None
    given = next((arg.value for arg in model.node.args if arg.keyword is None or arg.keyword.value == "layers"), None)
    if given is None:
        return []
    given = settled(given, scopes)
    return [element.value for element in given.elements] if isinstance(given, cst.List | cst.Tuple) else None


def layers_behind(tensor: cst.BaseExpression, module: Module, scopes: Scopes) -> Iterator[cst.BaseExpression]:
    """The layers that a tensor came through, the last one first."""
    seen: set[cst.BaseExpression] = set()
    while (value := value_above(tensor, module, scopes)) is not None and value not in seen:
        seen.add(value)
        if not isinstance(value, cst.Call) or len(value.args) != 1:
            return
        yield settled(value.func, scopes)
        tensor = value.args[0].value


def value_above(node: cst.BaseExpression, module: Module, scopes: Scopes) -> cst.BaseExpression | None:
    """An expression, or what a name was bound to last above it; None where an `if` or a loop has a say in that."""
    seen: set[cst.BaseExpression] = set()
    while isinstance(node, cst.Name) and node not in seen:
        seen.add(node)
        binding = _last_binding(node, module, scopes)
        value = value_of(binding) if binding is not None else None
        if value is None:
            return None
        node = value
    return node


def _last_binding(node: cst.Name, module: Module, scopes: Scopes) -> Occurrence | None:
    mention = scopes.occurrence(node)
    if mention is None:
        return None
    place = module.position(node)
    bindings = bindings_of(node, scopes)
    if any(_loops(module, one.unit) for one in bindings) and len(bindings) > 1:
        return None
    above = [one for one in bindings if module.position(one.unit) < place and one.unit is not mention.unit]
    last = max(above, key=lambda one: module.position(one.node), default=None)
    known = set(module.arms(mention.unit))
    return last if last is not None and set(module.arms(last.unit)) <= known else None


def _loops(module: Module, unit: Unit) -> bool:
    return any(isinstance(owner, cst.For | cst.While) for owner in module.ancestors(unit))
