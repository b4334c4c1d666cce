"""Two fits on the same arrays: the dataset of the first serves the second, where nothing in between changes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

import libcst as cst

from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Insert
from tfmigrate.understand.lifecycle import MODEL_METHODS, Use
from tfmigrate.understand.purity import is_pure
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import FunctionValue, Made, ModelObject, Parallel
from tfmigrate.walk import calls_in, children, walk
from tfmigrate.written import nodes_of, shown

_TELLS = frozenset({"print", "len", "range", "str", "int", "float", "format", "min", "max", "round"})
"""Builtin functions that keep nothing of what they are given, and change none of it."""


def repeated(pipelines: Iterable[tuple[Use, Insert]], draft: Draft) -> set[Insert]:
    """The lines that make once more what those before them made, and that the call can do without."""
    order = draft.module.order
    written = sorted(pipelines, key=lambda pipeline: order[pipeline[0].site.unit])
    superfluous: set[Insert] = set()
    last: tuple[Use, Insert] | None = None
    for use, insert in written:
        if last is not None and _says_the_same(last[1], insert) and _stays(*last, use, draft):
            superfluous.add(insert)
        else:
            last = use, insert
    return superfluous


def _says_the_same(first: Insert, second: Insert) -> bool:
    def text(insert: Insert) -> str:
        return insert.code if isinstance(insert.code, str) else shown(insert.code)

    return text(first) == text(second) and all(map(is_pure, nodes_of(second.code)))


def _stays(first: Use, insert: Insert, second: Use, draft: Draft) -> bool:
    """Whether what was made for the first call is the same still when the second one runs."""
    module = draft.module
    if first.site.frame.function is not second.site.frame.function or first.site.unit not in module.places:
        return False
    place = module.places[first.site.unit]
    round_ = (second.site.unit, *module.ancestors(second.site.unit))
    holder = next((unit for unit in round_ if module.places[unit].block is place.block), None)
    if holder is None or module.places[holder].index <= place.index:
        return False
    between = [
        unit
        for unit, at in module.places.items()
        if at.block is place.block and place.index < at.index <= module.places[holder].index
    ]
    read = {path for node in nodes_of(insert.code) for path in _paths(node)}
    return all(_keeps(unit, second, read, draft) for unit in between)


def _keeps(unit: cst.CSTNode, second: Use, read: Set[str], draft: Draft) -> bool:
    """Whether a statement before the second call changes none of some variables and attributes."""
    if isinstance(unit, cst.FunctionDef | cst.ClassDef):
        return False
    allowed: set[cst.CSTNode] = set()
    for call in calls_in(unit):
        if _is_of_model(call, draft) or call is second.call or _tells(call):
            allowed.update(part for argument in call.args for part in walk(argument.value))
        elif not (draft.facts.symbols.get(call.func) or _is_own_function(call, second, read, draft)):
            return False
    return not any(
        path == known or known.startswith(f"{path}.") or path.startswith(f"{known}.")
        for node, path in _mentions(unit)
        for known in read
        if node not in allowed
    )


def _is_of_model(call: cst.Call, draft: Draft) -> bool:
    """Whether a call is of a method of a model, or of a layer."""
    func = call.func
    if not isinstance(func, cst.Attribute):
        return False
    options = draft.facts.options(func.value)
    of_model = bool(options) and all(isinstance(option, ModelObject | Parallel | Made) for option in options)
    return of_model or (func.attr.value in MODEL_METHODS and any(use.call is call for use in draft.facts.uses))


def _tells(call: cst.Call) -> bool:
    return isinstance(call.func, cst.Name) and call.func.value in _TELLS


def _is_own_function(call: cst.Call, second: Use, read: Set[str], draft: Draft) -> bool:
    """Whether a call is of a function of the program that cannot see the variables: they are local to the scope of
    the second call. A method may have them as attributes."""
    options = draft.facts.options(call.func)
    if not options or not all(isinstance(option, FunctionValue) and option.owner is None for option in options):
        return False
    scope = draft.scope_of(second.site.frame)
    return all(
        "." not in path and all(mention.scope is scope for mention in draft.scopes.of_variable(path, scope))
        for path in read
    )


def _paths(node: cst.CSTNode) -> Iterator[str]:
    return (path for _, path in _mentions(node))


def _mentions(node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, str]]:
    """Each name in some code with the attributes read off it, `self.x`; what is only called or named is no variable."""
    path = dotted(node) if isinstance(node, cst.Name | cst.Attribute) else ""
    if path:
        yield node, path
    elif isinstance(node, cst.Arg):
        yield from _mentions(node.value)
    else:
        for child in children(node):
            yield from _mentions(child)
