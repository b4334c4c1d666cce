"""Which expressions are arrays of Booleans for sure."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from tfmigrate.plan.change.calls import named_arguments, text_of
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.syntax import dotted, last_attribute
from tfmigrate.understand.values import Opaque

_MAKERS = {
    "numpy.zeros": ("shape", "dtype"),
    "numpy.ones": ("shape", "dtype"),
    "numpy.empty": ("shape", "dtype"),
    "numpy.full": ("shape", "fill_value", "dtype"),
}
"""Functions that make an array to be filled, with their parameters."""
_COPYING = {"numpy.array": ("object", "dtype"), "numpy.asarray": ("a", "dtype")}
_TAKING_DTYPE = {**_MAKERS, **_COPYING, "numpy.eye": ("N", "M", "k", "dtype"), "numpy.identity": ("n", "dtype")}
_ASKING = frozenset(
    f"numpy.{name}"
    for name in ("equal", "greater", "greater_equal", "in1d", "isclose", "isfinite", "isin", "isnan", "less",
                 "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor", "not_equal")
)  # fmt: skip
_RESHAPING = frozenset(
    f"numpy.{name}"
    for name in ("copy", "expand_dims", "moveaxis", "ravel", "reshape", "squeeze", "swapaxes", "transpose")
)  # fmt: skip
"""Functions whose first argument keeps its type."""
_RESHAPING_METHODS = frozenset({"copy", "flatten", "ravel", "reshape", "squeeze", "swapaxes", "transpose", "to_numpy"})
_RESHAPED = frozenset({"T", "values"})
_COMPARING = (
    cst.Equal, cst.NotEqual, cst.LessThan, cst.LessThanEqual, cst.GreaterThan, cst.GreaterThanEqual,
)  # fmt: skip
_LOGICAL = (cst.BitAnd, cst.BitOr, cst.BitXor)
_BOOLEAN = frozenset({"numpy.bool", "numpy.bool_", "numpy.bool8"})


def made_of_booleans(call: cst.Call, context: Context) -> cst.BaseExpression | None:
    """The `dtype` of a call that makes an array of Booleans to be filled."""
    return _dtype_of(call, _MAKERS.get(context.facts.called(call), ()), context)


def are_booleans(node: cst.BaseExpression, context: Context) -> bool:
    """Whether the array that an expression is, holds Booleans, whatever happened before."""
    return _are_booleans(node, context, frozenset())


def _are_booleans(node: cst.BaseExpression, context: Context, seen: frozenset[cst.CSTNode]) -> bool:
    if node in seen:
        return False
    seen |= {node}

    def each(nodes: Iterable[cst.BaseExpression]) -> bool:
        return all(_are_booleans(part, context, seen) for part in nodes)

    if isinstance(node, cst.Comparison):
        return all(isinstance(comparison.operator, _COMPARING) for comparison in node.comparisons)
    if isinstance(node, cst.UnaryOperation):
        return isinstance(node.operator, cst.BitInvert) and each([node.expression])
    if isinstance(node, cst.BinaryOperation):
        return isinstance(node.operator, _LOGICAL) and each([node.left, node.right])
    if isinstance(node, cst.Subscript):
        return each([node.value])
    if isinstance(node, cst.Attribute):
        return node.attr.value in _RESHAPED and each([node.value])
    if isinstance(node, cst.Call):
        array = _reshaped(node, context)
        return _returns_booleans(node, context) or (array is not None and each([array]))
    options = context.facts.options(node)
    return bool(options) and all(
        isinstance(option, Opaque) and isinstance(option.node, cst.BaseExpression) and each([option.node])
        for option in options
    )


def _returns_booleans(call: cst.Call, context: Context) -> bool:
    symbol = context.facts.called(call)
    if symbol in _ASKING:
        return True
    if symbol in _TAKING_DTYPE:
        return _dtype_of(call, _TAKING_DTYPE[symbol], context) is not None
    is_cast = last_attribute(call.func) == "astype"
    return is_cast and _dtype_of(call, ("dtype",), context) is not None


def _reshaped(call: cst.Call, context: Context) -> cst.BaseExpression | None:
    """The array that a call gives back in another shape, or copied."""
    symbol, func = context.facts.called(call), call.func
    if symbol in _RESHAPING or (symbol in _COPYING and len(call.args) == 1):
        return call.args[0].value if call.args and call.args[0].keyword is None else None
    return func.value if isinstance(func, cst.Attribute) and func.attr.value in _RESHAPING_METHODS else None


def _dtype_of(call: cst.Call, parameters: tuple[str, ...], context: Context) -> cst.BaseExpression | None:
    """The argument `dtype` of a call, where it is that of Booleans."""
    named = named_arguments(call, parameters) or {}
    if "dtype" not in named:
        return None
    dtype = named["dtype"].value
    builtin = dotted(dtype) == "bool" and not context.scopes.bindings("bool")
    return dtype if builtin or context.facts.symbols.get(dtype) in _BOOLEAN or text_of(dtype) == "bool" else None
