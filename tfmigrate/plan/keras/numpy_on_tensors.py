"""`np.abs(y_true - y_pred)` in what a graph is built of: NumPy cannot compute with a tensor."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.traced import elements, traced_functions
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand.module import Module
from tfmigrate.understand.syntax import dotted, last_word
from tfmigrate.walk import children

_BY_OPERATORS = {"abs": "abs", "absolute": "abs", "square": "square"}
"""What Python's operators did to the tensor before TensorFlow 1.15, and the function of TensorFlow that does it."""
_OTHER = {
    "log": "math.log", "power": "pow", "mean": "reduce_mean", "sum": "reduce_sum", "max": "reduce_max",
    "amax": "reduce_max", "min": "reduce_min", "amin": "reduce_min", "prod": "reduce_prod", "clip": "clip_by_value",
    "dot": "matmul", "concatenate": "concat", "maximum": "maximum", "minimum": "minimum", "sqrt": "sqrt",
    "exp": "exp", "sign": "sign", "add": "add", "subtract": "subtract", "multiply": "multiply", "divide": "divide",
    "reshape": "reshape", "transpose": "transpose", "expand_dims": "expand_dims",
}  # fmt: skip
_SHAPES = frozenset({"shape", "ndim"})
"""They ask the tensor for its attributes, which it has."""


def check(context: Context) -> Iterator[CallChange]:
    for module, call, function in context.migration.once(_calls):
        if module is not context.facts.module:
            continue
        what = f"np.{function} on a tensor raises NotImplementedError since TensorFlow 1.15"
        ours = _BY_OPERATORS.get(function)
        if ours is not None and len(call.args) == 1 and call.args[0].keyword is None and not call.args[0].star:
            message = f"{what}: {context.tf}.{ours}, which computes the same"
            yield CallChange(codes.NUMPY_ON_TENSORS, call, message, Replace(call.func, (f"{context.tf}.{ours}",)))
            continue
        advice = f"write tf.{_OTHER[function]}" if function in _OTHER else "compute it with TensorFlow functions"
        yield CallChange(codes.NUMPY_ON_TENSORS, call, f"{what}: {advice}", action="warn")


def _calls(migration: Migration) -> tuple[tuple[Module, cst.Call, str], ...]:
    """Each call of a function of NumPy on a tensor in what the program's losses, metrics and layers compute."""
    found: dict[cst.Call, tuple[Module, cst.Call, str]] = {}
    for reader in migration.once(traced_functions):
        for call in _on_tensors(reader.traced.node):
            holder, _, function = reader.facts.called(call).rpartition(".")
            if holder == "numpy" and function not in _SHAPES and call.args:
                if any(map(reader.is_tensor, elements(call.args[0].value))):
                    found.setdefault(call, (reader.traced.module, call, function))
    return tuple(found.values())


def _on_tensors(node: cst.CSTNode) -> Iterator[cst.Call]:
    """The calls in a function but for those where a tensor has failed before, or that are for arrays alone."""
    if isinstance(node, cst.Call):
        yield node
    for child in children(node):
        handles = isinstance(child, cst.ExceptHandler)
        if not handles and not (isinstance(node, cst.If) and child is node.body and _asks_for_array(node.test)):
            yield from _on_tensors(child)


def _asks_for_array(test: cst.BaseExpression) -> bool:
    """`isinstance(y_true, np.ndarray)`"""
    if not isinstance(test, cst.Call) or dotted(test.func) != "isinstance" or len(test.args) != 2:
        return False
    return last_word(test.args[1].value) == "ndarray"
