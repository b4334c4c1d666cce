"""What a program asks about the machine it runs on: its devices, the GPUs among them, and how many they are."""

from __future__ import annotations

import re

import libcst as cst

from tfmigrate.understand import names
from tfmigrate.understand.values import Arguments, Literal, Mapping, Opaque, Symbol, Value, Visible
from tfmigrate.walk import walk


def listed(name: str, arguments: Arguments) -> Visible | None:
    """What a function of TensorFlow lists of the machine; None where it lists nothing."""
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
    return Opaque("a comparison", node=node)


_VARIABLES = frozenset({"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"})
"""Variables of the environment that are read when the GPUs are started."""
_PHYSICAL = re.compile(
    r"tensorflow\.config\.(experimental\.)?set_"
    r"(visible_devices|memory_growth|logical_device_configuration|virtual_device_configuration)"
)
_SESSIONS = frozenset({"tensorflow.Session", "tensorflow.compat.v1.Session"})
_SET_IN_ENVIRONMENT = frozenset({"os.environ.setdefault", "os.environ.update", "os.putenv", "os.environ.__setitem__"})


def chooses_devices(name: str, arguments: Arguments) -> bool:
    """Whether a function of a library says which GPUs there are, or how their memory is used, before they are started.

    A session carries such settings too; Keras is given it by set_session().
    """
    if name in _SESSIONS:
        return any(keyword == "config" for keyword, _ in arguments)
    if name in _SET_IN_ENVIRONMENT:
        known = [key for _, value in arguments for key in _keys(value)]
        known += [keyword for keyword, _ in arguments if keyword is not None]
        return not _VARIABLES.isdisjoint(known)
    return names.canonical(name).endswith(".set_session") or _PHYSICAL.fullmatch(name) is not None


def _keys(value: Value) -> list[object]:
    if isinstance(value, Mapping):
        return list(value.keys)
    return [value.value] if isinstance(value, Literal) else []


def is_device_variable(receiver: Value, index: Value | None) -> bool:
    """`os.environ["CUDA_VISIBLE_DEVICES"]`"""
    return receiver == Symbol("os.environ") and isinstance(index, Literal) and index.value in _VARIABLES
