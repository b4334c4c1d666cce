"""`variable.assign(value)` as a line of its own: in a graph it only made an operation, today it sets the variable."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.syntax import assigned_in, dotted

_ASSIGNS = frozenset({"assign", "assign_add", "assign_sub"})
_MAKERS = frozenset(
    f"keras.backend.{name}"
    for name in ("variable", "zeros", "ones", "eye", "zeros_like", "ones_like", "random_uniform_variable",
                 "random_normal_variable")
)  # fmt: skip
_UPDATES = frozenset(
    {
        "keras.backend.update", "keras.backend.update_add", "keras.backend.update_sub",
        "keras.backend.moving_average_update", "tensorflow.assign", "tensorflow.assign_add", "tensorflow.assign_sub",
    }
)  # fmt: skip
"""Functions of standalone Keras and of TensorFlow 1, which made graphs."""


def check(context: Context) -> Iterator[CallChange]:
    facts = context.facts
    for line in facts.module.all_of(cst.Expr):
        call = line.value
        if not isinstance(call, cst.Call):
            continue
        if facts.called(call) in _UPDATES:
            name = facts.module.code(call.args[0].value) if call.args else "the variable"
        elif isinstance(call.func, cst.Attribute) and call.func.attr.value in _ASSIGNS:
            if not _is_variable(call.func.value, context):
                continue
            name = facts.module.code(call.func.value)
        else:
            continue
        message = (
            f"in TensorFlow 1 this only created an operation, which nothing ran: `{name}` kept its value; today it "
            "is set at once, and the program computes with other numbers: remove the line to train as before"
        )
        yield CallChange(codes.DISCARDED_ASSIGNS, call, message, action="warn")


def _is_variable(node: cst.BaseExpression, context: Context) -> bool:
    """Whether it is a variable of standalone Keras's backend."""
    made = settled(node, context.scopes) if isinstance(node, cst.Name) else _set_to(dotted(node), context)
    symbol = context.facts.called(made)
    return symbol in _MAKERS and names.flavour(symbol) == "keras"


def _set_to(attribute: str, context: Context) -> cst.BaseExpression | None:
    """What the module's one assignment to `self.weights` sets it to."""
    values = assigned_in(context.facts.module.tree, attribute) if attribute.startswith("self.") else []
    return values[0] if len(values) == 1 else None
