"""How a program lists its GPUs."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import text_of
from tfmigrate.plan.edits import Remove, Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.program import attribute_of
from tfmigrate.understand.reaching import bindings_of, sole_assignment
from tfmigrate.understand.scopes import Scopes
from tfmigrate.walk import walk


def check(context: Context) -> Iterator[CallChange]:
    yield from available_gpus(context)
    yield from listed_by_sessions(context)


def available_gpus(context: Context) -> Iterator[CallChange]:
    """`K.tensorflow_backend._get_available_gpus()`: names such as /device:GPU:0; most scripts want the number.

    Only logical devices have those names; to list them starts the GPUs, so where the number is asked for the physical
    ones are counted.
    """
    facts, tf, quote = context.facts, context.tf, context.quote
    counted = {call.args[0].value for call in facts.module.calls if _is_len(call)}
    for call in facts.module.calls:
        if names.lists_devices(facts.symbols.get(call.func, "")) != "gpus" or call.args:
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
    calls = [call for call in facts.module.calls if _is_listing(call)]
    if not calls:
        return
    counted = {call.args[0].value for call in facts.module.calls if _is_len(call)}
    comps = facts.module.all_of(cst.ListComp, cst.GeneratorExp)
    of_types = {comp.for_in.iter for comp in comps if _asks_alone(comp, counted=comp in counted)}
    listed: dict[cst.Call, cst.Assign | None] = {}
    for call in calls:
        assert isinstance(call.func, cst.Attribute)
        session = call.func.value
        assignment = _made_by(session, scopes) if isinstance(session, cst.Name) else None
        made = assignment.value if assignment is not None else session
        plain = isinstance(made, cst.Call) and not made.args and facts.canonical(made.func) in _SESSIONS
        if call in of_types and plain:
            listed[call] = assignment
    for call, assignment in listed.items():
        more: tuple[Remove, ...] = ()
        if assignment is not None and isinstance(call.func, cst.Attribute) and isinstance(call.func.value, cst.Name):
            more = (Remove(assignment),) if len(scopes.mentions_of(call.func.value)) == 2 else ()
        message = "TensorFlow 2 has no sessions: tf.config lists the devices, with their names and types"
        edit = Replace(call, f"{context.tf}.config.list_logical_devices()")
        yield CallChange(codes.SESSIONS, call, message, edit, more=more)


_SESSIONS = {"keras.backend.get_session", "tensorflow.Session", "tensorflow.compat.v1.Session"}


_OF_EITHER = re.compile(r"[/:]?(?:device:)?:?[CG]PU:?\d*", re.IGNORECASE)
"""Parts of what a device of a session and one of tf.config are called alike, and of their text."""


def _is_listing(call: cst.Call) -> bool:
    return isinstance(call.func, cst.Attribute) and call.func.attr.value == "list_devices" and not call.args


def _made_by(session: cst.Name, scopes: Scopes) -> cst.Assign | None:
    """The only assignment that a name can have its value from."""
    bindings = bindings_of(session, scopes)
    return sole_assignment(bindings[0]) if len(bindings) == 1 else None


def _asks_alone(comp: cst.ListComp | cst.GeneratorExp, *, counted: bool) -> bool:
    """Whether a comprehension over devices compares their text, names or types, and gives nothing else of them.

    `counted`: whether it is asked how many elements it has, and these may be the devices.
    """
    part, loop = comp.for_in.target, comp.for_in
    if not isinstance(part, cst.Name) or loop.inner_for_in is not None:
        return False
    given = () if counted and (isinstance(comp.elt, cst.Name) or _is_text_of(comp.elt, part.value)) else (comp.elt,)
    asked = [node for test in (*given, *(clause.test for clause in loop.ifs)) for node in walk(test)]
    compared = [node for node in asked if isinstance(node, cst.Comparison)]
    told = [text for node in compared for text in walk(node) if _is_text_of(text, part.value)]
    said = {inner for text in told for inner in walk(text)}
    words = [text_of(word) or "" for node in compared for word in walk(node) if isinstance(word, cst.SimpleString)]
    mentions = (node for node in asked if isinstance(node, cst.Name) and node.value == part.value)
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


def _is_len(call: cst.Call) -> bool:
    return isinstance(call.func, cst.Name) and call.func.value == "len" and len(call.args) == 1
