"""`np.zeros(shape, dtype=bool)` that a model is trained on, which Keras 3 under a strategy fails on."""

from __future__ import annotations

from collections.abc import Iterator, Set

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import named_arguments, text_of
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.methods import keras_calls
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.program import dotted
from tfmigrate.understand.reaching import reaching, value_of

_DATA = ("x", "y", "batch_size", "epochs", "verbose", "callbacks", "validation_split", "validation_data")
_MAKERS = {
    "numpy.zeros": ("shape", "dtype"),
    "numpy.ones": ("shape", "dtype"),
    "numpy.empty": ("shape", "dtype"),
    "numpy.full": ("shape", "fill_value", "dtype"),
}
_BOOLEAN = frozenset({"numpy.bool", "numpy.bool_", "numpy.bool8"})
_DATASETS = frozenset({"tensorflow.data.Dataset.from_tensor_slices", "tensorflow.data.Dataset.from_tensors"})
_FAILS = "Keras 3 under a strategy fails on Boolean arrays (InvalidArgumentError in AddN)"


def check(context: Context) -> Iterator[CallChange]:
    """Arrays that are only filled and handed to Keras are converted to float32, as Keras 2 did."""
    facts, scopes = context.facts, context.scopes
    harmless: Set[cst.CSTNode] | None = None
    seen: set[cst.CSTNode] = set()
    for use in keras_calls(facts, "fit"):
        named = named_arguments(use.call, _DATA) or {}
        data = [named[word].value for word in ("x", "y", "validation_data") if word in named]
        for name in (part for node in data for part in _arrays(node)):
            scope = scopes.holding(name)
            bindings = reaching(name.value, scope, scopes) if scope is not None else []
            array = value_of(bindings[0]) if len(bindings) == 1 else None
            dtype = _boolean(array, context) if isinstance(array, cst.Call) and array not in seen else None
            if scope is None or array is None or dtype is None:
                continue
            seen.add(array)
            harmless = _harmless(context) if harmless is None else harmless
            reads = [mention.node for mention in scopes.of_variable(name.value, scope) if not mention.binds]
            if all(read in harmless for read in reads):
                quote = context.draft.quote
                code = (dtype.value, ".float32") if isinstance(dtype, cst.Attribute) else f"{quote}float32{quote}"
                message = f"{_FAILS}: converted to float32, as Keras 2 did"
                yield CallChange(codes.BOOL_ARRAYS, dtype, message, Replace(dtype, code))
            else:
                message = f"{_FAILS}: pass `{name.value}.astype('float32')`"
                yield CallChange(codes.BOOL_ARRAYS, dtype, message, action="warn")


def _arrays(node: cst.BaseExpression) -> Iterator[cst.Name]:
    """The arrays that an argument of fit() is, or has parts of."""
    if isinstance(node, cst.Name):
        yield node
    elif isinstance(node, cst.Subscript):
        yield from _arrays(node.value)
    elif isinstance(node, cst.Tuple | cst.List):
        for element in node.elements:
            yield from _arrays(element.value)


def _boolean(creation: cst.Call, context: Context) -> cst.BaseExpression | None:
    """The `dtype` of an array that is made of Booleans."""
    named = named_arguments(creation, _MAKERS.get(context.facts.symbols.get(creation.func, ""), ()))
    if not named or "dtype" not in named:
        return None
    dtype = named["dtype"].value
    builtin = dotted(dtype) == "bool" and not context.scopes.bindings("bool")
    known = context.facts.symbols.get(dtype, "") in _BOOLEAN
    return dtype if builtin or known or text_of(dtype) == "bool" else None


def _harmless(context: Context) -> frozenset[cst.CSTNode]:
    """The names whose use is the same for an array of floats: filled by index, measured, or data of a model."""
    mentions: set[cst.CSTNode] = set()
    for node in context.facts.module.all_of(cst.AssignTarget, cst.Attribute, cst.Call):
        if isinstance(node, cst.AssignTarget) and isinstance(node.target, cst.Subscript):
            mentions.update(_arrays(node.target))
        elif isinstance(node, cst.Attribute) and node.attr.value in ("shape", "ndim", "size"):
            mentions.add(node.value)
        elif isinstance(node, cst.Call) and dotted(node.func) == "len":
            mentions.update(arg.value for arg in node.args)
        elif isinstance(node, cst.Call) and context.facts.symbols.get(node.func, "") in _DATASETS:
            mentions.update(name for arg in node.args for name in _arrays(arg.value))
    for use in keras_calls(context.facts, "fit", "evaluate", "predict"):
        mentions.update(name for arg in use.call.args for name in _arrays(arg.value))
    return frozenset(mentions)
