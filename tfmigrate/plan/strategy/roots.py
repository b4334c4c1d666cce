"""What expressions and functions read and set: names, and attributes read off them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from tfmigrate.understand.parameters import positional
from tfmigrate.understand.purity import is_pure
from tfmigrate.walk import children, walk


@dataclass(frozen=True)
class Root:
    """A name at the left end of something."""

    name: cst.Name
    path: tuple[str, ...]
    """The attributes that are read off it."""
    call: cst.Call | None
    """What it is handed to with them; an object whose method is called is handed to that."""


def roots(node: cst.CSTNode, call: cst.Call | None = None, path: tuple[str, ...] = ()) -> Iterator[Root]:
    """Every name at the left end of something in a node."""
    if isinstance(node, cst.Name):
        yield Root(node, path, call)
    elif isinstance(node, cst.Attribute):
        yield from roots(node.value, call, (node.attr.value, *path))
    elif isinstance(node, cst.Call):
        yield from roots(node.func.value if isinstance(node.func, cst.Attribute) else node.func, node)
        for argument in node.args:
            yield from roots(argument.value, node)
    else:
        for child in children(node):
            yield from roots(child)


def are_names(target: cst.BaseExpression) -> bool:
    """Whether what is assigned to is a name, or several."""
    if isinstance(target, cst.Tuple):
        return all(isinstance(element.value, cst.Name) for element in target.elements)
    return isinstance(target, cst.Name)


def is_literal(value: cst.BaseExpression) -> bool:
    constant = isinstance(value, cst.Name) and value.value in ("True", "False", "None")
    return constant or isinstance(value, cst.Integer | cst.Float | cst.SimpleString)


def mentions_any(node: cst.CSTNode, wanted: frozenset[str]) -> bool:
    """Whether one of some names stands in a node, on its own or as an attribute's."""
    return any(isinstance(part, cst.Name) and part.value in wanted for part in walk(node))


def is_init(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.FunctionDef) and node.name.value == "__init__"


def sets_any(function: cst.FunctionDef | cst.Lambda, attributes: set[str]) -> bool:
    """Whether a function sets, or changes in place, an attribute of one of these names; a new object's do not count."""
    new = positional(function.params)[0].name.value if is_init(function) and positional(function.params) else None
    targets: list[cst.CSTNode] = []
    for part in walk(function.body):
        if isinstance(
            part, cst.AssignTarget | cst.AnnAssign | cst.AugAssign | cst.For | cst.CompFor | cst.Del | cst.NamedExpr
        ):
            targets.append(part.target)
        elif isinstance(part, cst.AsName):
            targets.append(part.name)
        elif isinstance(part, cst.Call) and isinstance(part.func, cst.Attribute) and not is_pure(part):
            targets.append(part.func.value)
    return any(
        isinstance(part, cst.Attribute)
        and part.attr.value in attributes
        and not (isinstance(part.value, cst.Name) and part.value.value == new)
        for target in targets
        for part in walk(target)
    )
