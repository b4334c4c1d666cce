"""Expressions that can be evaluated twice, or not at all."""

from __future__ import annotations

import libcst as cst

from tfmigrate.walk import walk

_PURE_CALLS = frozenset(
    {
        "len", "int", "str", "max", "min", "list", "range", "float", "bool", "abs", "tuple", "isinstance", "sorted",
        "set", "sum", "any", "all", "round", "enumerate", "zip", "reversed",
    }
)  # fmt: skip


_PURE_METHODS = frozenset(
    {
        "split", "get", "strip", "getenv", "backend",
        "int", "float", "bool", "str", "int32", "int64", "float32", "float64",
    }
)  # fmt: skip
"""Of strings, dicts and modules; the conversions are NumPy's."""


def is_pure(node: cst.CSTNode) -> bool:
    """Whether evaluating an expression twice, or not at all, changes nothing."""
    return not any(map(is_impure, walk(node)))


def is_impure(node: cst.CSTNode) -> bool:
    """The opposite for what a node does itself, whatever its parts do."""
    return isinstance(node, cst.NamedExpr | cst.Await | cst.Yield) or (
        isinstance(node, cst.Call) and not is_pure_call(node)
    )


def is_pure_call(call: cst.Call) -> bool:
    """The same of what is called, whatever it is given."""
    if isinstance(call.func, cst.Name):
        return call.func.value in _PURE_CALLS
    return isinstance(call.func, cst.Attribute) and call.func.attr.value in _PURE_METHODS
