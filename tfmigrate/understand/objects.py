"""What methods do with the attributes of their object: who sets one, and which activation began an object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

import libcst as cst

from tfmigrate.understand.blocks import Unit, is_docstring, only_statement, units_of
from tfmigrate.understand.module import Module
from tfmigrate.understand.parameters import first_parameter
from tfmigrate.understand.syntax import dotted, last_attribute
from tfmigrate.understand.values import ClassValue, Frame, FunctionValue, Instance, Site
from tfmigrate.walk import calls_in, walk


def frame_of_init(instance: Instance, init: cst.FunctionDef) -> Frame | None:
    """The activation of an `__init__`, of the object's class or of one that it is called from, that began an object."""
    frame, site, call = None, instance.site, instance.call
    for cls in instance.cls.ancestors():
        function = cls.members.get("__init__")
        if not isinstance(function, FunctionValue) or not isinstance(function.node, cst.FunctionDef):
            if len(cls.bases) > 1:
                return None
            continue
        frame = Frame(function.module, function.node, function.closure, site, call, cls, instance)
        if function.node is init:
            return frame
        asked = list(calls_of_base(function.node))
        if len(asked) != 1 or len(cls.bases) > 1:
            return None
        site, call = Site(frame, asked[0][0]), asked[0][1]
    return None


def calls_of_base(init: cst.FunctionDef) -> Iterator[tuple[Unit, cst.Call]]:
    """The lines of an `__init__` that call the one of its base class in any case, each with the call."""
    for unit in units_of(init.body):
        if isinstance(unit, cst.SimpleStatementLine):
            for call in calls_in(unit):
                if last_attribute(call.func) == "__init__":
                    yield unit, call


def receiver_of(function: cst.CSTNode | None) -> str | None:
    """The name a method has for its object."""
    return first_parameter(function) if isinstance(function, cst.FunctionDef) else None


def methods_in(cls: ClassValue) -> Iterator[cst.FunctionDef]:
    return (unit for unit in units_of(cls.node.body) if isinstance(unit, cst.FunctionDef))


def setters_of(cls: ClassValue, name: str) -> Iterator[tuple[cst.FunctionDef, Unit]]:
    """The methods of a class that assign to an attribute of their object, and the statements that do."""
    module = cls.closure.module
    for method in methods_in(cls):
        text = f"{receiver_of(method)}.{name}"
        for unit in module.inside(method):
            if isinstance(unit, cst.SimpleStatementLine | cst.SimpleStatementSuite) and sets_attribute(
                unit, text, module
            ):
                yield method, unit


def kept_as(owners: Iterable[ClassValue], name: str) -> str:
    """The attribute that a property gives back as it is, or the name itself where it is no such property."""
    for cls in owners:
        method = cls.members.get(name)
        node = method.node if isinstance(method, FunctionValue) else None
        if not isinstance(node, cst.FunctionDef):
            continue
        properties = [decorator for decorator in node.decorators if dotted(decorator.decorator) == "property"]
        lines = [unit for unit in units_of(node.body) if not is_docstring(only_statement(unit))]
        small = only_statement(lines[0]) if len(lines) == 1 else None
        returned = small.value if isinstance(small, cst.Return) else None
        if properties and isinstance(returned, cst.Attribute) and dotted(returned.value) == receiver_of(node):
            return returned.attr.value
    return name


def methods_that_set(owners: Iterable[ClassValue], name: str) -> set[str]:
    """The methods of an object that set one of its attributes, themselves or through each other, but for __init__."""
    methods = {method for cls in owners for method in methods_in(cls)}
    setting = {method for cls in owners for method, _ in setters_of(cls, name)}
    while True:
        setters = {method.name.value for method in setting} - {"__init__"}
        more = {method for method in methods - setting if calls_one_of(method.body, setters)}
        if not more:
            return setters
        setting |= more


def calls_one_of(node: cst.CSTNode, methods: Set[str]) -> bool:
    """Whether a method of one of these names is called on something."""
    return bool(methods) and any(
        isinstance(part, cst.Call) and last_attribute(part.func) in methods for part in walk(node)
    )


def sets_attribute(unit: cst.CSTNode, text: str, module: Module) -> bool:
    """Whether a unit assigns to an attribute whose code ends in `text`, alone or with others: `self.a, self.b = c`."""
    return any(
        isinstance(part, cst.AssignTarget | cst.AugAssign | cst.AnnAssign)
        and any(isinstance(node, cst.Attribute) and module.code(node).endswith(text) for node in walk(part.target))
        for part in walk(unit)
    )
