"""What a program asks about the machine it runs on: its devices, the GPUs among them, and how many they are."""

from __future__ import annotations

import libcst as cst

from tfmigrate.understand import names
from tfmigrate.understand.values import Arguments, Literal, Opaque, Value, Visible
from tfmigrate.walk import walk


def listed(name: str, arguments: Arguments) -> Visible | None:
    """What a function of TensorFlow lists of the machine; None where it does no such thing."""
    what = names.lists_devices(name)
    if what is None:
        return None
    return Visible("gpus" if any(value == Literal("GPU") for _, value in arguments) else what)


def counts_gpus(builtin: str, arguments: Arguments) -> bool:
    """Whether a call is `len(gpus)`."""
    return builtin == "len" and arguments == ((None, Visible("gpus")),)


def keeps_gpus(node: cst.BaseComp, run_over: Value) -> bool:
    """Whether a comprehension runs over all devices and keeps the GPUs."""
    return run_over == Visible("devices") and any(
        isinstance(part, cst.SimpleString) and "GPU" in str(part.evaluated_value).upper()
        for clause in node.for_in.ifs
        for part in walk(clause.test)
    )


def compared(node: cst.Comparison, number: Value, limit: Value) -> Value:
    """What a comparison of the number of GPUs with a number asks: whether there are at least two, or at most one."""
    operator = type(node.comparisons[0].operator)
    if number == Visible("count") and len(node.comparisons) == 1:
        if (operator, limit) in ((cst.GreaterThan, Literal(1)), (cst.GreaterThanEqual, Literal(2))):
            return Visible("several")
        if (operator, limit) in ((cst.LessThanEqual, Literal(1)), (cst.LessThan, Literal(2))):
            return Visible("one")
    return Opaque("a comparison")
