"""What a program runs between two of its places: the lines and the functions that are called there, and what these set
and change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import libcst as cst

from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.objects import receiver_of
from tfmigrate.understand.reaching import parameters_of
from tfmigrate.understand.syntax import index_of
from tfmigrate.understand.values import (
    ClassValue,
    Frame,
    FunctionValue,
    Instance,
    Method,
    ModuleValue,
    Opaque,
    Parameter,
    Site,
    Value,
)
from tfmigrate.walk import children, nodes_in, walk

_CHANGING = frozenset(
    {"append", "extend", "insert", "pop", "popitem", "remove", "clear", "update", "setdefault", "add", "discard"}
)
"""Methods that change what a list, a dict or a set holds."""
FunctionRun = tuple[cst.FunctionDef, Facts, bool]
"""A function, the facts of its module, and whether its object is a new one."""


def functions_on_the_way(
    target: Frame, before: cst.CSTNode, source: Site, facts: Mapping[Module, Facts]
) -> Iterator[FunctionRun]:
    """The functions of the program that may run from the unit `before` of `target` on until `source` is reached, which
    runs under `target`; for any other place there are none."""
    pending = [
        (part, facts[module])
        for module, unit in lines_on_the_way(target, before, source)
        for part in _parts_of(unit)
        if isinstance(part, cst.Call)
    ]
    yield from _reached(pending, facts)


def lines_on_the_way(target: Frame, before: cst.CSTNode, source: Site) -> Iterator[tuple[Module, cst.CSTNode]]:
    """The statements of the functions under which `source` runs, as above, each with its module."""
    if source.lifted(target) is None:
        return
    for site in source.chain():
        module, here = site.frame.module, site.frame is target
        first = module.order.get(before, 0) if here else 0
        function = site.frame.function
        last = module.order.get(site.unit, 0)
        for unit in module.inside(function) if function is not None else module.places:
            if first <= module.order[unit] < last and module.function_round(unit) is function:
                yield module, unit
        if here:
            return


def _reached(pending: list[tuple[cst.Call, Facts]], facts: Mapping[Module, Facts]) -> Iterator[FunctionRun]:
    seen: set[tuple[cst.CSTNode, bool]] = set()
    while pending:
        call, known = pending.pop()
        for function, new in _called(known.options(call.func)):
            if (function.node, new) in seen or not isinstance(function.node, cst.FunctionDef):
                continue
            seen.add((function.node, new))
            there = facts[function.module]
            yield function.node, there, new
            inner = (part for part in walk(function.node.body) if isinstance(part, cst.Call))
            pending.extend((part, there) for part in inner)


def _called(callees: Iterable[Value]) -> Iterator[tuple[FunctionValue, bool]]:
    for callee in callees:
        function: Value | None = callee
        if isinstance(callee, Method):
            function = callee.function
        elif isinstance(callee, ClassValue):
            function = callee.lookup("__init__")
        if isinstance(function, FunctionValue):
            yield function, isinstance(callee, ClassValue)


def _parts_of(unit: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """All in a statement but the statements inside it."""
    pending: list[cst.CSTNode] = [unit]
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, cst.FunctionDef | cst.ClassDef | cst.Lambda):
            blocks = (cst.BaseSuite, cst.Else, cst.Finally, cst.ExceptHandler)
            pending.extend(child for child in children(node) if not isinstance(child, blocks))


def sets_attribute_of(run: FunctionRun, read: cst.Attribute, known: Facts) -> bool:
    """Whether a function that runs may set the attribute that is read."""
    function, facts, new = run
    if any(_is_global_of(part, read, known, facts.module) for part in nodes_in(function.body, cst.Global)):
        return True
    for target in _attributes_set(walk(function.body), read.attr.value):
        own = isinstance(target.value, cst.Name) and target.value.value == receiver_of(function)
        if not (new and own) and _may_be_one(facts.options(target.value), known.options(read.value)):
            return True
    return False


def line_sets_attribute_of(line: cst.CSTNode, facts: Facts, read: cst.Attribute, known: Facts) -> bool:
    """The same of a statement, without the blocks in it."""
    return any(
        _may_be_one(facts.options(target.value), known.options(read.value))
        for target in _attributes_set(_parts_of(line), read.attr.value)
    )


def _attributes_set(parts: Iterable[cst.CSTNode], name: str) -> Iterator[cst.Attribute]:
    """The attributes of that name that are assigned to."""
    for part in parts:
        if isinstance(part, cst.AssignTarget | cst.AugAssign | cst.AnnAssign):
            yield from (target for target in nodes_in(part.target, cst.Attribute) if target.attr.value == name)


def _is_global_of(statement: cst.Global, read: cst.Attribute, known: Facts, module: Module) -> bool:
    """Whether a function of a module binds the global that is read as an attribute of the module."""
    names = {item.name.value for item in statement.names}
    return read.attr.value in names and ModuleValue(module) in known.options(read.value)


def changed_on_the_way(
    read: cst.Name | cst.Attribute,
    key: str | None,
    known: Facts,
    lines: Iterable[cst.CSTNode],
    runs: Iterable[FunctionRun],
) -> bool:
    """Whether lines, or functions that run, change what a list or dict holds that is read: `gpus.append(0)`.

    `key`: the one item that is read, as code; None where all may be.
    """
    if any(_changes(part, read, key, known, known) for line in lines for part in _parts_of(line)):
        return True
    return any(
        _changes(part, read, key, known, facts)
        for function, facts, _ in runs
        if isinstance(read, cst.Attribute) or (facts is known and read.value not in _own_names(function))
        for part in walk(function.body)
    )


def _changes(part: cst.CSTNode, read: cst.Name | cst.Attribute, key: str | None, known: Facts, facts: Facts) -> bool:
    holders: list[cst.BaseExpression] = []
    if isinstance(part, cst.AssignTarget | cst.AugAssign | cst.Del):
        for target in walk(part.target):
            if isinstance(target, cst.Subscript) and (key is None or literal_key(target) in (None, key)):
                holders.append(target.value)
    elif isinstance(part, cst.Call) and isinstance(part.func, cst.Attribute) and part.func.attr.value in _CHANGING:
        holders.append(part.func.value)
    return any(_is_read(holder, read, known, facts) for holder in holders)


def _is_read(holder: cst.BaseExpression, read: cst.Name | cst.Attribute, known: Facts, facts: Facts) -> bool:
    if isinstance(read, cst.Name):
        return isinstance(holder, cst.Name) and holder.value == read.value
    return (
        isinstance(holder, cst.Attribute)
        and holder.attr.value == read.attr.value
        and _may_be_one(facts.options(holder.value), known.options(read.value))
    )


def literal_key(node: cst.Subscript) -> str | None:
    """The one item of a list or dict that is meant, where that is written out."""
    value = index_of(node)
    return str(value.evaluated_value) if isinstance(value, cst.SimpleString | cst.Integer) else None


def _own_names(function: cst.FunctionDef) -> set[str]:
    """The names that are a function's own variables."""
    shared = {item.name.value for part in walk(function.body) if isinstance(part, cst.Global) for item in part.names}
    bound = {
        part.value
        for target in walk(function.body)
        if isinstance(target, cst.AssignTarget)
        for part in (target.target,)
        if isinstance(part, cst.Name)
    }
    return (bound | set(parameters_of(function))) - shared


def _may_be_one(values: Iterable[Value], others: Iterable[Value]) -> bool:
    """Whether what two expressions stand for may be the same object: of what is not followed another such thing."""
    first, second = [*values], [*others]
    return not first or not second or any(_are_alike(value, other) for value in first for other in second)


def _are_alike(value: Value, other: Value) -> bool:
    if isinstance(value, Instance) and isinstance(other, Instance):
        return not set(value.cls.ancestors()).isdisjoint(other.cls.ancestors())
    if isinstance(value, ModuleValue) or isinstance(other, ModuleValue):
        return value == other
    unknown = (Opaque, Parameter)
    return value == other or (isinstance(value, unknown) and isinstance(other, unknown))
