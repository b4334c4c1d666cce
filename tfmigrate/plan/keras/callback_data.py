"""What fit() of old Keras told a callback: the data it validates on, and all of its parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import text_of
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.objects import receiver_of
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.syntax import dotted, index_of
from tfmigrate.understand.values import ClassValue, FunctionValue, Instance
from tfmigrate.walk import walk

_DATA = "validation_data"
_PARAMS = "params"
_GONE = {
    "metrics": "the names are the keys of `logs`",
    "samples": "pass it to the callback when creating it",
    "batch_size": "pass it to the callback when creating it",
    "do_validation": "`logs` of on_epoch_end() has `val_` names if there was validation",
}
"""What `params` no longer holds, and what there is instead."""


def check(context: Context) -> Iterator[CallChange]:
    callbacks = [cls for cls in context.facts.classes if cls.is_callback()]
    if not callbacks:
        return
    everywhere = list(context.modules.values())
    classes = {cls for other in everywhere for cls in other.classes}
    told: set[cst.CSTNode] = set()
    for cls in callbacks:
        family = [other for other in classes if other in [*cls.ancestors()] or cls in [*other.ancestors()]]
        for change in _read(cls, family, everywhere, context):
            if change.node not in told:
                told.add(change.node)
                yield change


def _read(
    cls: ClassValue, family: Iterable[ClassValue], everywhere: Iterable[Facts], context: Context
) -> Iterator[CallChange]:
    """The first place where a class reads what fit() no longer sets, for each of it."""
    family = list(family)
    methods = [method for method in cls.methods() if method.module is context.facts.module]
    reads = [node for method in methods for node in _reads_of(method, _DATA)]
    if reads and not _is_given(_DATA, family, everywhere):
        for node in _first_of(reads, context.facts):
            message = (
                f"fit() no longer sets `{_DATA}` of a callback: AttributeError on Keras 3, None on Keras 2. Pass the "
                "data to its __init__ and store it there"
            )
            yield CallChange(codes.CALLBACK_ATTRIBUTES, node, message, action="warn")
    asked = [(key, node) for method in methods for key, node in _keys(method, context)]
    if not asked or _is_given(_PARAMS, family, everywhere):
        return
    for key, instead in _GONE.items():
        for node in _first_of([node for name, node in asked if name == key], context.facts):
            failure = "KeyError" if isinstance(node, cst.Subscript) else "the default instead"
            message = (
                f"`{_PARAMS}` of a callback has no {key!r} on Keras 2 and 3 ({failure}), only 'verbose', 'epochs' and "
                f"'steps': {instead}"
            )
            yield CallChange(codes.CALLBACK_ATTRIBUTES, node, message, action="warn")


def _first_of(nodes: list[cst.CSTNode], facts: Facts) -> list[cst.CSTNode]:
    return [min(nodes, key=facts.module.position)] if nodes else []


def _is_given(name: str, family: Iterable[ClassValue], everywhere: Iterable[Facts]) -> bool:
    """Whether the program itself gives the objects of these classes an attribute."""
    family = set(family)
    if any(name in cls.members or f"set_{name}" in cls.members for cls in family):
        return True
    if any(_sets_attribute(method, name) for cls in family for method in cls.members.values()):
        return True
    return any(_may_be_one_of(holder, family, facts) for facts in everywhere for holder in _holders(name, facts))


def _sets_attribute(method: object, name: str) -> bool:
    """Whether a method sets an attribute of its object, or any one by name."""
    if not isinstance(method, FunctionValue):
        return False
    own = receiver_of(method.node)
    written = (target for target in walk(method.node.body) if isinstance(target, cst.AssignTarget | cst.AnnAssign))
    if any(dotted(part) == f"{own}.{name}" for target in written for part in walk(target.target)):
        return True
    return any(dotted(part) == f"{own}.__dict__" for part in walk(method.node.body))


def _holders(name: str, facts: Facts) -> Iterator[cst.BaseExpression]:
    """The objects that a module sets an attribute of, methods' own left out."""
    for node in facts.module.all_of(cst.AssignTarget, cst.Call):
        if isinstance(node, cst.AssignTarget):
            targets = (part for part in walk(node.target) if isinstance(part, cst.Attribute))
            yield from (part.value for part in targets if part.attr.value == name and dotted(part.value) != "self")
        elif dotted(node.func) == "setattr" and len(node.args) == 3 and text_of(node.args[1].value) in (name, None):
            yield node.args[0].value


def _may_be_one_of(holder: cst.BaseExpression, family: set[ClassValue], facts: Facts) -> bool:
    known = facts.options(holder)
    others = [value for value in known if isinstance(value, Instance) and value.cls not in family]
    return not known or len(others) < len(known)


def _reads_of(method: FunctionValue, name: str) -> Iterator[cst.CSTNode]:
    """Where a method reads an attribute of its object."""
    own = receiver_of(method.node)
    return (
        part for part in walk(method.node.body) if isinstance(part, cst.Attribute) and dotted(part) == f"{own}.{name}"
    )


def _keys(method: FunctionValue, context: Context) -> Iterator[tuple[str, cst.CSTNode]]:
    """What a method reads of `params`, but where it asks first whether that is there."""
    own = f"{receiver_of(method.node)}.{_PARAMS}"
    parts = list(walk(method.node.body))
    tests = [part for part in parts if isinstance(part, cst.Comparison)]
    asked = {text_of(test.left) for test in tests if isinstance(test.comparisons[0].operator, cst.In | cst.NotIn)}
    for part in parts:
        if isinstance(part, cst.Subscript):
            holder, key = part.value, text_of(index_of(part))
        elif isinstance(part, cst.Call) and isinstance(part.func, cst.Attribute) and part.func.attr.value == "get":
            holder, key = part.func.value, text_of(part.args[0].value) if part.args else None
        else:
            continue
        if key in _GONE and key not in asked and dotted(settled(holder, context.scopes)) == own:
            yield key, part
