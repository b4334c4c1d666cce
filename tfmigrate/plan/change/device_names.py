"""The names of GPUs, as a strategy takes them."""

from __future__ import annotations

import libcst as cst

from tfmigrate.written import Written

_LISTED = 4
"""Devices that are listed one by one where their number is written out."""


def first_gpus(count: Written, quote: str) -> Written:
    """The first so many GPUs."""
    if isinstance(count.tree, cst.Integer) and 0 < count.tree.evaluated_value <= _LISTED:
        return Written.of(f"[{', '.join(f'{quote}/gpu:{i}{quote}' for i in range(count.tree.evaluated_value))}]")
    return gpus_of(Written.of("range(", count, ")"), quote)


def gpus_of(ids: Written, quote: str) -> Written:
    """The GPUs of these ids; what makes a list of them is left out where it is only gone through."""
    listed = ids.tree
    if isinstance(listed, cst.List | cst.Tuple) and len(listed.elements) <= _LISTED:
        numbers = [element.value.value for element in listed.elements if isinstance(element.value, cst.Integer)]
        if len(numbers) == len(listed.elements):
            return Written.of(f"[{', '.join(f'{quote}/gpu:{i}{quote}' for i in numbers)}]")
    call = ids.tree
    if isinstance(call, cst.Call) and isinstance(call.func, cst.Name) and call.func.value in ("list", "tuple"):
        if len(call.args) == 1 and call.args[0].star == "" and call.args[0].keyword is None:
            ids = ids.part("args.0.value") or ids
    return Written.of(f"[f{quote}/gpu:{{i}}{quote} for i in ", ids, "]")
