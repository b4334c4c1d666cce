"""`model.train_on_batch(x, y).tolist()`: losses were NumPy scalars, and are floats now."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.syntax import index_of
from tfmigrate.understand.values import Literal, Opaque
from tfmigrate.written import Code

_ANSWERING = frozenset({"train_on_batch", "test_on_batch", "evaluate", "evaluate_generator"})
_AS_FLOAT = frozenset({"tolist", "item", "mean"})
"""Methods of a number of NumPy that return the number itself."""


def check(context: Context) -> Iterator[CallChange]:
    """`loss.tolist()`, `.item()` and `.mean()` are `float(loss)`, and `loss.round(3)` is `round(loss, 3)`."""
    facts = context.facts
    answers = {use.call for use in facts.uses if use.method in _ANSWERING and use.is_of_model}
    for call in facts.module.calls:
        if not isinstance(call.func, cst.Attribute) or not _is_loss(call.func.value, answers, facts):
            continue
        code = _of_float(call.func, call)
        if code is not None:
            message = f"in TensorFlow 2 a loss is a Python float, which has no {call.func.attr.value}()"
            yield CallChange(codes.FLOAT_LOSSES, call, message, Replace(call, code))


def _of_float(method: cst.Attribute, call: cst.Call) -> Code | None:
    """The code that does to a float of Python what a method does to a number of NumPy; None for any other method."""
    if method.attr.value in _AS_FLOAT and not call.args:
        return ("float(", method.value, ")")
    if method.attr.value == "round" and len(call.args) <= 1 and all(not argument.star for argument in call.args):
        return ("round(", method.value, *(code for argument in call.args for code in (", ", argument.value)), ")")
    return None


def _is_loss(node: cst.BaseExpression, answers: set[cst.Call], facts: Facts) -> bool:
    """Whether an expression is a loss: what training or evaluation returns, an item of it, or of `history.history`."""
    if isinstance(node, cst.Subscript):
        kept = node.value
        if index_of(node) is None:
            return False
        if isinstance(kept, cst.Subscript) and isinstance(kept.value, cst.Attribute):
            return kept.value.attr.value == "history"
    known = facts.options(node)
    answered = {option for option in known if isinstance(option, Opaque) and option.node in answers}
    return bool(answered) and all(isinstance(option, Literal) for option in known - answered)
