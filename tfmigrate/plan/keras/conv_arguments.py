"""`conv_utils.normalize_tuple(size, 2, "size")` and the like of layers of one's own: the module is private now."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import is_none, named_arguments
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.purity import is_pure

_MODULES = ("keras.utils.conv_utils", "keras.backend")
_PARAMETERS = {
    "normalize_tuple": ("value", "n", "name"),
    "normalize_data_format": ("value",),
    "normalize_padding": ("value",),
}
_LENGTH = "conv_output_length"


def check(context: Context) -> Iterator[CallChange]:
    yield from _arguments(context)
    yield from _lengths(context)


def _lengths(context: Context) -> Iterator[CallChange]:
    """`conv_output_length(...)` is more than an expression: a function of the program's own is called instead."""
    facts = context.facts
    calls = [call for call in facts.module.calls if facts.canonical(call.func) == f"{_MODULES[0]}.{_LENGTH}"]
    if calls:
        helper = Helper.of(context.draft, _LENGTH)
        message = f"{_LENGTH}() is not public in Keras 3: {helper}() computes the same"
        changes = [CallChange(codes.CONV_ARGUMENTS, call, message, Replace(call.func, helper.name)) for call in calls]
        yield from helper.brought_by(calls, changes)


def _arguments(context: Context) -> Iterator[CallChange]:
    """Each of these is one expression, which is written in the place of the call."""
    facts = context.facts
    assigned = {node.value for node in facts.module.all_of(cst.Assign)}
    for call in facts.module.calls:
        name = facts.canonical(call.func)
        module, _, function = name.rpartition(".")
        if module not in _MODULES or function not in _PARAMETERS:
            continue
        named = named_arguments(call, _PARAMETERS[function])
        if named is None or "value" not in named or (function == "normalize_tuple" and "n" not in named):
            continue
        value = named["value"].value
        if not is_pure(value):
            continue  # It would be asked for twice: left to TFM501.
        count = _atom(named["n"].value, context) if "n" in named else ""
        code = _written(function, value, count, context)
        if " if " in code and call not in assigned:
            code = f"({code})"
        message = f"{function}() is not public in Keras 3: its code is written out"
        yield CallChange(codes.CONV_ARGUMENTS, call, message, Replace(call, code))


def _written(function: str, value: cst.BaseExpression, count: str, context: Context) -> str:
    default = f"{context.tf}.keras.backend.image_data_format()"
    text = _atom(value, context)
    if function == "normalize_padding":
        return f"{text}.lower()"
    if function == "normalize_data_format":
        return default if is_none(value) else f"({text} or {default}).lower()"
    if isinstance(value, cst.Tuple):
        return text
    return f"({text},) * {count} if isinstance({text}, int) else tuple({text})"


def _atom(node: cst.BaseExpression, context: Context) -> str:
    text = context.facts.module.code(node)
    plain = isinstance(node, cst.Name | cst.Attribute | cst.Subscript | cst.Integer | cst.Tuple | cst.List)
    return text if plain else f"({text})"
