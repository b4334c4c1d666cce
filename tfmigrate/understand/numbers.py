"""Numbers that are none of Python's integers: what NumPy computed, and quotients, however far they are passed on."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from tfmigrate.understand.contents import is_keras
from tfmigrate.understand.values import Opaque, Value, options

_QUOTIENT = "a quotient"
_OF_NUMPY = frozenset(
    f"a call of numpy.{name}"
    for name in (
        "prod", "product", "sum", "max", "amax", "min", "amin", "ceil", "floor", "rint", "round", "round_", "around",
        "trunc", "fix", "int32", "int64", "argmax", "power", "log2", "sqrt",
    )
)  # fmt: skip
"""Functions of NumPy that give one of its numbers, when they are given numbers."""


def is_no_integer(value: Value) -> bool:
    """Whether a value may be a number of NumPy, or a quotient."""
    return any(
        isinstance(option, Opaque) and (option.origin in _OF_NUMPY or option.origin == _QUOTIENT)
        for option in options(value)
    )


def is_quotient(value: Value) -> bool:
    """Whether a value may be a quotient, a float of Python."""
    return any(isinstance(option, Opaque) and option.origin == _QUOTIENT for option in options(value))


def calculated(left: Value, right: Value, node: cst.CSTNode) -> Opaque | None:
    """What arithmetic gives that makes such a number, or goes on from one; None for any other, tensors' above all."""
    if is_keras(left) or is_keras(right):
        return None
    sites = frozenset().union(
        *(possible.sites for side in (left, right) for possible in options(side) if isinstance(possible, Opaque))
    )
    if isinstance(node, cst.BinaryOperation | cst.AugAssign) and isinstance(
        node.operator, cst.Divide | cst.DivideAssign
    ):
        return Opaque(_QUOTIENT, sites, node)
    for side in (left, right):
        opaque = [option for option in options(side) if isinstance(option, Opaque) and is_no_integer(option)]
        if opaque:
            return replace(min(opaque, key=lambda one: one.origin), sites=sites, node=node)
    return None
