"""`keras.utils.print_summary(model)`: the function is gone, the model's own method is there."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import named_arguments
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.written import listed

_PARAMETERS = ("model", "line_length", "positions", "print_fn")
"""Of print_summary in Keras 2; those behind the model are the method's too, in this order."""


def check(context: Context) -> Iterator[CallChange]:
    """`print_summary(model, line_length=80)` is `model.summary(line_length=80)`."""
    facts = context.facts
    for call in facts.module.calls:
        if facts.canonical(call.func) != "keras.utils.print_summary":
            continue
        named = named_arguments(call, _PARAMETERS)
        if named is None or "model" not in named:
            continue
        model = named["model"].value
        if not isinstance(model, cst.Name | cst.Attribute | cst.Call | cst.Subscript):
            continue  # A conditional expression, say: left to TFM501.
        rest = listed(
            (f"{arg.keyword.value}=", arg.value) if arg.keyword is not None else (arg.value,)
            for arg in call.args
            if arg is not named["model"]
        )
        message = "print_summary() was removed: the model prints its summary itself"
        yield CallChange(codes.PRINT_SUMMARY, call, message, Replace(call, (model, ".summary(", *rest, ")")))
