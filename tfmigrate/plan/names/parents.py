"""Calls of the `__init__` of a class of a library in that of its own subclass: they take what the class takes."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.reaching import parameters_of
from tfmigrate.understand.syntax import dotted
from tfmigrate.walk import calls_in


def initialised(facts: Facts) -> Iterator[tuple[cst.Call, cst.BaseExpression]]:
    """`super().__init__(...)` and `Base.__init__(self, ...)`, each with the one base of the class that it stands in."""
    for node in facts.module.all_of(cst.ClassDef):
        bases = [arg.value for arg in node.bases if dotted(arg.value) != "object"]
        if len(bases) != 1 or bases[0] not in facts.symbols:
            continue
        for method in node.body.body:
            if isinstance(method, cst.FunctionDef) and method.name.value == "__init__":
                yield from ((call, bases[0]) for call in calls_in(method.body) if _initialises(call, method, bases[0]))


def _initialises(call: cst.Call, method: cst.FunctionDef, base: cst.BaseExpression) -> bool:
    if not isinstance(call.func, cst.Attribute) or call.func.attr.value != "__init__":
        return False
    owner = call.func.value
    if isinstance(owner, cst.Call):
        return dotted(owner.func) == "super"
    first = dotted(call.args[0].value) if call.args else ""
    return bool(first) and dotted(owner) == dotted(base) and parameters_of(method)[:1] == [first]
