"""What `gpus` is: multi_gpu_model took a number of GPUs and a list of their ids alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from enum import Enum
from itertools import chain
from typing import Any

import libcst as cst

from tfmigrate.plan.change.calls import keywords, text_of
from tfmigrate.plan.change.command_line import declarations, is_of_absl, last_name
from tfmigrate.understand.lifecycle import Wrap
from tfmigrate.understand.module import Module
from tfmigrate.understand.parameters import nameable
from tfmigrate.understand.reaching import values_of
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.values import NOTHING, Frame, Items, Literal, Opaque, Value, Visible, options
from tfmigrate.walk import walk


class Kind(Enum):
    NUMBER = "a number"
    LIST = "a list of ids"


Kinds = Set[Kind]
"""What a value may be; nothing where it is unknown."""

_UNKNOWN: Kinds = frozenset()
_NUMBER: Kinds = frozenset({Kind.NUMBER})
_LIST: Kinds = frozenset({Kind.LIST})

_RETURNS: dict[str, Kinds] = {
    **dict.fromkeys(("int", "len", "max", "min", "sum", "abs", "round", "count", "index"), _NUMBER),
    **dict.fromkeys(("list", "tuple", "sorted", "range", "split", "tolist"), _LIST),
}
"""What builtins and usual methods give."""
_TAKES: dict[str, Kinds] = {
    **dict.fromkeys(("int", "range"), _NUMBER),
    **dict.fromkeys(("len", "set", "sorted", "enumerate", "sum", "map"), _LIST),
    "isinstance": _NUMBER | _LIST,
}
"""What builtins are given."""
_ORDERED = (cst.LessThan, cst.LessThanEqual, cst.GreaterThan, cst.GreaterThanEqual)
_EQUAL = (cst.Equal, cst.NotEqual)
_ARITHMETIC = (cst.Multiply, cst.Divide, cst.FloorDivide, cst.Subtract, cst.Modulo)
_COUNTING_NAME = re.compile(r"num|count|(?<![a-z])(n|nb|no|ng|g)(?![a-z])|^ng?pus?$", re.IGNORECASE)


def kinds(wrap: Wrap, scopes: Mapping[Module, Scopes]) -> Kinds:
    """What the `gpus` of a wrap may be: what its value shows, else what the program does with it elsewhere, else what
    it is called. `scopes`: of the program's modules, one of which may declare it as an option of the command line."""
    if wrap.gpus is None or wrap.gpus_value in (None, NOTHING):
        return _NUMBER
    shown = [_of_value(option) for option in options(wrap.gpus_value) if option != NOTHING]
    if all(shown):
        return frozenset().union(*shown)
    mentions = list(values_of(wrap.gpus, wrap.site.frame, scopes))
    declared = {kind for _, node in mentions for kind in _declared(node, scopes)}
    declared |= {kind for frame, node in mentions for kind in _of_annotation(_annotation(node, frame))}
    used = {kind for frame, node in mentions for kind in _used(node, frame, scopes[frame.module])}
    if declared or used:
        return frozenset(declared | used)
    return _NUMBER if any(_COUNTING_NAME.search(last_name(node) or "") for _, node in mentions) else _UNKNOWN


def kinds_of_all(wraps: Iterable[Wrap], scopes: Mapping[Module, Scopes]) -> Kinds:
    """What the `gpus` of a call may be in several activations; unknown where it is in one."""
    given = [kinds(wrap, scopes) for wrap in wraps if wrap.gpus_value != NOTHING] or [_NUMBER]
    return frozenset().union(*given) if all(given) else _UNKNOWN


def replicas(wrap: Wrap) -> int | None:
    """The number of replicas where it is plain to see."""
    value = wrap.gpus_value
    if isinstance(value, Literal) and isinstance(value.value, int):
        return value.value
    return len(value.values) if isinstance(value, Items) and value.kind == "list" and value.counted else None


def _of_value(value: Value) -> Kinds:
    if isinstance(value, Items):
        return _LIST
    if isinstance(value, Literal) or value == Visible("count"):
        return _NUMBER
    return _of_node(value.node) if isinstance(value, Opaque) else _UNKNOWN


def _of_node(node: cst.CSTNode | None) -> Kinds:
    """What an expression gives, by its form."""
    if isinstance(node, cst.Call):
        func = node.func
        return _RETURNS.get(func.value if isinstance(func, cst.Name) else last_name(func) or "", _UNKNOWN)
    if isinstance(node, cst.BinaryOperation):
        return _NUMBER if isinstance(node.operator, _ARITHMETIC) else _UNKNOWN
    return _UNKNOWN


def _declared(node: cst.BaseExpression, modules: Iterable[Module]) -> Iterator[Kind]:
    """What options of the command line that have this name hold."""
    for _, call in declarations(node, modules):
        function = last_name(call.func) or ""
        if not is_of_absl(call):
            yield from _of_option(call)
        else:
            several = "list" in function or "multi" in function
            yield from _LIST if several else _NUMBER if function.endswith("integer") else _UNKNOWN


def _of_option(call: cst.Call) -> Kinds:
    named = {name: arg.value for name, arg in keywords(call).items()}
    if text_of(named.get("action")) in ("append", "extend"):
        return _LIST
    if "nargs" in named and text_of(named["nargs"]) != "?":
        return _LIST
    kind, default = named.get("type"), named.get("default")
    if isinstance(kind, cst.Name) and kind.value == "int":
        return _NUMBER
    if isinstance(default, cst.List | cst.Tuple):
        return _LIST
    return _NUMBER if isinstance(default, cst.Integer) else _UNKNOWN


def _annotation(node: cst.BaseExpression, frame: Frame) -> cst.BaseExpression | None:
    """That of a parameter of the function that an expression stands in."""
    if not isinstance(node, cst.Name) or frame.function is None:
        return None
    named = (param for param in nameable(frame.function.params) if param.name.value == node.value)
    return next((param.annotation.annotation for param in named if param.annotation is not None), None)


_LISTS = frozenset({"list", "tuple", "List", "Tuple", "Sequence", "Iterable", "Collection"})


def _of_annotation(node: cst.BaseExpression | None) -> Kinds:
    """`int`, `Optional[int]`, `List[int]`, `int | list[int]`."""
    name = last_name(node) if isinstance(node, cst.Name | cst.Attribute) else None
    if name is not None:
        return _NUMBER if name == "int" else _LIST if name in _LISTS else _UNKNOWN
    if isinstance(node, cst.BinaryOperation):
        return _of_annotation(node.left) | _of_annotation(node.right)
    if not isinstance(node, cst.Subscript):
        return _UNKNOWN
    parts = (part.slice.value for part in node.slice if isinstance(part.slice, cst.Index))
    either = last_name(node.value) in ("Optional", "Union")
    return frozenset(chain.from_iterable(map(_of_annotation, parts))) if either else _of_annotation(node.value)


def _used(node: cst.BaseExpression, frame: Frame, scopes: Scopes) -> Iterator[Kind]:
    """What the program does with an expression where it means the same: compares it, loops over it, ..."""
    module, name = frame.module, last_name(node)
    text = module.code(node)
    scope = scopes.by_node[frame.function or module.tree]
    owner = scopes.owner(node.value, scope) if isinstance(node, cst.Name) else None
    telling = chain.from_iterable(module.all_of(kind) for kind in _TELLING)
    for part in walk(scope.node) if owner is scope else telling:
        for operand, role in _operands(part):
            if last_name(operand) == name and module.code(operand) == text:
                yield from role


def _operands(node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, Kinds]]:
    """The parts of a node whose meaning the node tells."""
    telling = _TELLING.get(type(node))
    return telling(node) if telling is not None else iter(())


def _compared(node: cst.Comparison) -> Iterator[tuple[cst.CSTNode, Kinds]]:
    sides = [node.left, *(comparison.comparator for comparison in node.comparisons)]
    telling = (*_ORDERED, *_EQUAL) if any(isinstance(side, cst.Integer) for side in sides) else _ORDERED
    if any(isinstance(comparison.operator, telling) for comparison in node.comparisons):
        yield from ((side, _NUMBER) for side in sides)


def _computed(node: cst.BinaryOperation) -> Iterator[tuple[cst.CSTNode, Kinds]]:
    if isinstance(node.operator, _ARITHMETIC) and text_of(node.left) is None:
        yield from ((side, _NUMBER) for side in (node.left, node.right))


def _passed(node: cst.Call) -> Iterator[tuple[cst.CSTNode, Kinds]]:
    taken = _TAKES.get(node.func.value) if isinstance(node.func, cst.Name) else None
    if taken is not None:
        yield from ((arg.value, taken) for arg in node.args if not arg.star)


_TELLING: Mapping[type[cst.CSTNode], Callable[[Any], Iterator[tuple[cst.CSTNode, Kinds]]]] = {
    cst.Comparison: _compared,
    cst.BinaryOperation: _computed,
    cst.Call: _passed,
    cst.For: lambda node: iter([(node.iter, _LIST)]),
    cst.CompFor: lambda node: iter([(node.iter, _LIST)]),
    cst.Subscript: lambda node: iter([(node.value, _LIST)]),
}
"""What tells something of its parts."""
