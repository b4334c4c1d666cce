"""Arrays of Booleans that a model is trained or evaluated on, which Keras 3 under a strategy fails on."""

from __future__ import annotations

from collections.abc import Iterator, Set

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import named_arguments
from tfmigrate.plan.data.made_batches import batches_made, parts_of
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.booleans import are_booleans, made_of_booleans
from tfmigrate.plan.keras.methods import keras_calls
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.reaching import bindings_of, value_of
from tfmigrate.understand.syntax import dotted
from tfmigrate.written import Code

_PARAMETERS = {
    "fit": ("x", "y", "batch_size", "epochs", "verbose", "callbacks", "validation_split", "validation_data"),
    "evaluate": ("x", "y"),
}
_DATA = ("x", "y", "validation_data")
_DATASETS = frozenset({"tensorflow.data.Dataset.from_tensor_slices", "tensorflow.data.Dataset.from_tensors"})
_FAILS = "Keras 3 under a strategy fails on Boolean arrays (InvalidArgumentError in AddN)"


def check(context: Context) -> Iterator[CallChange]:
    """Arrays that are only filled and handed to Keras are made of float32; others are converted where they are handed
    over, as Keras 2 did."""
    given = list(_given(context))
    creations = {array: creation for array in given if (creation := _creation(array, context)) is not None}
    harmless = _harmless(given, context) if creations else frozenset()
    of_floats: set[cst.Call] = set()
    for array in given:
        creation = creations.get(array)
        if creation is not None and _is_only_data(array, harmless, context):
            if creation not in of_floats:
                yield _made_of_floats(creation, context)
            of_floats.add(creation)
        elif creation is not None or are_booleans(array, context):
            message = f"{_FAILS}: converted to float32, as Keras 2 did"
            yield CallChange(codes.BOOL_ARRAYS, array, message, Replace(array, _converted(array, context.draft.quote)))


def _given(context: Context) -> Iterator[cst.BaseExpression]:
    """The arrays that fit() and evaluate() are given, and those in the batches that are made for them."""
    facts = context.facts
    for use in keras_calls(facts, *_PARAMETERS):
        named = named_arguments(use.call, _PARAMETERS[use.method]) or {}
        for word in _DATA:
            if word in named:
                yield from _parts(named[word].value)
    for batch in batches_made(context):
        yield from _parts(batch.node)


def _parts(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    elements = parts_of(node)
    if not elements:
        yield node
    for element in elements:
        yield from _parts(element)


def _variable(array: cst.BaseExpression) -> cst.Name | None:
    """The name of an array, or of one that it is a part of."""
    while isinstance(array, cst.Subscript):
        array = array.value
    return array if isinstance(array, cst.Name) else None


def _creation(array: cst.BaseExpression, context: Context) -> cst.Call | None:
    """The call that made an array of Booleans to be filled, where nothing else is bound to its name."""
    name, scopes = _variable(array), context.scopes
    bindings = bindings_of(name, scopes) if name is not None else []
    made = value_of(bindings[0]) if len(bindings) == 1 else None
    return made if isinstance(made, cst.Call) and made_of_booleans(made, context) is not None else None


def _is_only_data(array: cst.BaseExpression, harmless: Set[cst.CSTNode], context: Context) -> bool:
    name, scopes = _variable(array), context.scopes
    mentions = scopes.mentions_of(name) if name is not None else ()
    return bool(mentions) and all(mention.binds or mention.node in harmless for mention in mentions)


def _made_of_floats(creation: cst.Call, context: Context) -> CallChange:
    dtype = made_of_booleans(creation, context)
    assert dtype is not None
    quote = context.draft.quote
    code: Code | str = (dtype.value, ".float32") if isinstance(dtype, cst.Attribute) else f"{quote}float32{quote}"
    message = f"{_FAILS}: created as float32, as Keras 2 converted it"
    return CallChange(codes.BOOL_ARRAYS, dtype, message, Replace(dtype, code))


def _converted(array: cst.BaseExpression, quote: str) -> Code:
    cast = f".astype({quote}float32{quote})"
    is_operation = isinstance(array, cst.Comparison | cst.BinaryOperation | cst.UnaryOperation)
    return ("(", array, f"){cast}") if is_operation and not array.lpar else (array, cast)


def _harmless(given: list[cst.BaseExpression], context: Context) -> frozenset[cst.CSTNode]:
    """The names whose use is the same for an array of floats: filled by index, measured, or data of a model."""
    facts = context.facts
    arrays = [*given]
    mentions: set[cst.CSTNode | None] = set()
    for node in facts.module.all_of(cst.AssignTarget, cst.Attribute, cst.Call):
        if isinstance(node, cst.AssignTarget) and isinstance(node.target, cst.Subscript):
            mentions.add(_variable(node.target))
        elif isinstance(node, cst.Attribute) and node.attr.value in ("shape", "ndim", "size"):
            mentions.add(node.value)
        elif isinstance(node, cst.Call) and dotted(node.func) == "len":
            mentions.update(arg.value for arg in node.args)
        elif isinstance(node, cst.Call) and facts.called(node) in _DATASETS:
            arrays.extend(part for arg in node.args for part in _parts(arg.value))
    for use in keras_calls(facts, "fit", "evaluate", "predict"):
        arrays.extend(part for arg in use.call.args for part in _parts(arg.value))
    return frozenset(node for node in (*mentions, *map(_variable, arrays)) if node is not None)
