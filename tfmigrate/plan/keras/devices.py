"""How a program lists its GPUs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import text_of
from tfmigrate.plan.edits import Remove, Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.reaching import bindings_of, sole_assignment
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.syntax import attribute_of, dotted
from tfmigrate.walk import walk


def check(context: Context) -> Iterator[CallChange]:
    yield from available_gpus(context)
    yield from listed_by_sessions(context)
    yield from _called_gpu(context)


def available_gpus(context: Context) -> Iterator[CallChange]:
    """`K.tensorflow_backend._get_available_gpus()`: names such as /device:GPU:0; most scripts want the number.

    Only logical devices have those names; to list them starts the GPUs, so where the number is asked for the physical
    ones are counted.
    """
    facts, tf, quote = context.facts, context.tf, context.quote
    counted = _counted(facts)
    for call in facts.module.calls:
        if names.lists_devices(facts.called(call)) != "gpus" or call.args:
            continue
        if call in counted:
            code = f"{tf}.config.list_physical_devices({quote}GPU{quote})"
        else:
            code = f"[device.name for device in {tf}.config.list_logical_devices({quote}GPU{quote})]"
        message = "keras.backend._get_available_gpus() was removed: tf.config lists the devices"
        yield CallChange(codes.MOVED_MODULES, call, message, Replace(call, code))


def listed_by_sessions(context: Context) -> Iterator[CallChange]:
    """`sum("GPU" in d.name for d in K.get_session().list_devices())`: of a device its name or type is asked alone."""
    facts, scopes = context.facts, context.scopes
    sessions = {call: session for call in facts.module.calls if (session := _session_listing(call)) is not None}
    if not sessions:
        return
    counted = _counted(facts)
    comps = facts.module.all_of(cst.ListComp, cst.GeneratorExp)
    of_types = {comp.for_in.iter for comp in comps if _asks_alone(comp, counted=comp in counted)}
    for call, session in sessions.items():
        assignment = _made_by(session, scopes)
        if call not in of_types or not _makes_session(assignment.value if assignment is not None else session, facts):
            continue
        message = "TensorFlow 2 has no sessions: tf.config lists the devices, with their names and types"
        edit = Replace(call, f"{context.tf}.config.list_logical_devices()")
        more = (Remove(assignment),) if assignment is not None and len(scopes.mentions_of(session)) == 2 else ()
        yield CallChange(codes.SESSIONS, call, message, edit, more=more)


def _called_gpu(context: Context) -> Iterator[CallChange]:
    """`[d.name for d in list_local_devices() if d.name[:4] == "/gpu"]`, which TensorFlow 1.4 made an empty list."""
    facts = context.facts
    for comp in facts.module.all_of(cst.ListComp, cst.GeneratorExp):
        listing, device = comp.for_in.iter, comp.for_in.target
        if not isinstance(listing, cst.Call) or names.lists_devices(facts.called(listing)) != "devices":
            continue
        for clause in comp.for_in.ifs:
            if isinstance(device, cst.Name) and _asks_for_gpu(clause.test, device.value):
                message = (
                    "since TensorFlow 1.4 a GPU is called /device:GPU:0, and none has this name: its type is "
                    "tested instead"
                )
                code = f"{device.value}.device_type == {context.quote}GPU{context.quote}"
                yield CallChange(codes.MOVED_MODULES, clause.test, message, Replace(clause.test, code))


_OLD_NAME = re.compile(r"/?gpu:?")


def _asks_for_gpu(test: cst.BaseExpression, device: str) -> bool:
    """`d.name[:4] == "/gpu"`, `d.name.startswith("/gpu")`, `"gpu" in d.name`."""
    name, word = None, None
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        operator, right = test.comparisons[0].operator, test.comparisons[0].comparator
        if isinstance(operator, cst.In):
            name, word = right, test.left
        elif isinstance(operator, cst.Equal) and isinstance(test.left, cst.Subscript):
            name, word = test.left.value, right
    elif isinstance(test, cst.Call) and isinstance(test.func, cst.Attribute) and len(test.args) == 1:
        if test.func.attr.value == "startswith":
            name, word = test.func.value, test.args[0].value
    said = text_of(word) if word is not None else None
    return name is not None and attribute_of(device, name) == "name" and _OLD_NAME.fullmatch(said or "") is not None


_SESSIONS = {"keras.backend.get_session", "tensorflow.Session", "tensorflow.compat.v1.Session"}
_OF_EITHER = re.compile(r"[/:]?(?:device:)?:?[CG]PU:?\d*", re.IGNORECASE)
"""Parts of what a device of a session and one of tf.config are called alike, and of their text."""


def _session_listing(call: cst.Call) -> cst.BaseExpression | None:
    """The session in `session.list_devices()`."""
    if isinstance(call.func, cst.Attribute) and call.func.attr.value == "list_devices" and not call.args:
        return call.func.value
    return None


def _makes_session(node: cst.BaseExpression, facts: Facts) -> bool:
    return isinstance(node, cst.Call) and not node.args and facts.canonical(node.func) in _SESSIONS


def _made_by(session: cst.BaseExpression, scopes: Scopes) -> cst.Assign | None:
    """The only assignment that a name can have its value from."""
    bindings = bindings_of(session, scopes)
    return sole_assignment(bindings[0]) if len(bindings) == 1 else None


def _asks_alone(comp: cst.ListComp | cst.GeneratorExp, *, counted: bool) -> bool:
    """Whether a comprehension over devices compares their text, names or types, and gives nothing else of them.

    `counted`: whether it is asked how many elements it has, and these may be the devices.
    """
    device, given = comp.for_in.target, comp.elt
    if not isinstance(device, cst.Name) or comp.for_in.inner_for_in is not None:
        return False
    tests = [clause.test for clause in comp.for_in.ifs]
    is_idle = counted and (isinstance(given, cst.Name) or _is_text_of(given, device.value))
    return _compare(tests if is_idle else [*tests, given], device.value)


def _compare(tests: Iterable[cst.BaseExpression], device: str) -> bool:
    """Whether expressions compare the text of a device, its name or type, with what there is in both kinds of it, and
    do nothing else with it."""
    asked = [node for test in tests for node in walk(test)]
    compared = [part for node in asked if isinstance(node, cst.Comparison) for part in walk(node)]
    told = [part for part in compared if _is_text_of(part, device)]
    said = {inner for text in told for inner in walk(text)}
    words = [text_of(part) or "" for part in compared if isinstance(part, cst.SimpleString)]
    mentions = (node for node in asked if isinstance(node, cst.Name) and node.value == device)
    return bool(told) and all(map(_OF_EITHER.fullmatch, words)) and all(node in said for node in mentions)


def _is_text_of(node: cst.CSTNode, name: str) -> bool:
    """`str(d)`, `d.name`, `d.device_type`."""
    if isinstance(node, cst.Call):
        return (
            isinstance(node.func, cst.Name)
            and node.func.value == "str"
            and len(node.args) == 1
            and isinstance(node.args[0].value, cst.Name)
            and node.args[0].value.value == name
        )
    return attribute_of(name, node) in ("name", "device_type")


def _counted(facts: Facts) -> set[cst.BaseExpression]:
    """`x` of each `len(x)`."""
    return {call.args[0].value for call in facts.module.calls if dotted(call.func) == "len" and len(call.args) == 1}
