"""The layers of a model, the last one first."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan.change.calls import has_stars
from tfmigrate.understand.module import Module
from tfmigrate.understand.reaching import settled, value_above
from tfmigrate.understand.scopes import Scopes
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
