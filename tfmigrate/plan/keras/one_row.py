"""`model.predict(x)` of one row under a strategy: the other replicas get none, which an LSTM of Keras 3 fails on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, is_none, keywords, named_arguments
from tfmigrate.plan.data.only_output import has_one_output
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.reaching import bindings_of, settled, value_of
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.syntax import called_on, last_attribute

METHODS_OF_ROWS = ("predict", "predict_on_batch", "predict_classes", "predict_proba")
_ARGUMENTS = ("x", "batch_size", "verbose", "steps")
_FAILING = frozenset({"keras.layers.LSTM", "keras.layers.CuDNNLSTM", "keras.layers.LSTMCell"})
_FAILS = (
    "predict() on one row leaves none for the other replicas, on which an LSTM of Keras 3 fails (ValueError: Shape "
    "must be rank 1)"
)


def one_row_calls(uses: Iterable[Use], context: Context) -> dict[Use, cst.BaseExpression]:
    """The calls that have a model with an LSTM predict for one row, each with that row. `uses`: on several replicas."""
    if codes.ONE_ROW not in context.tables.wanted or not context.migration.once(_has_lstm):
        return {}
    rows = _Rows(context.facts, context.scopes)
    found: dict[Use, cst.BaseExpression] = {}
    for use in uses:
        named = named_arguments(use.call, _ARGUMENTS)
        if named is not None and "x" in named and named.keys() <= set(_ARGUMENTS) and rows.is_one(named["x"].value):
            if "steps" not in named or is_none(named["steps"].value):
                found[use] = named["x"].value
    return found


def called_directly(calls: Mapping[Use, cst.BaseExpression], context: Context) -> Iterator[CallChange]:
    """One row is given to the model itself, which one device computes."""
    for use, data in calls.items():
        receiver = called_on(use.call)
        largest = ".argmax(axis=-1)" if use.method == "predict_classes" else ""
        models = context.models_of(use.call)
        if receiver is None or not has_one_output(models, context.facts, context.modules):
            message = f"{_FAILS}: call the model, `model(x, training=False)`, and convert each output by numpy()"
            yield CallChange(codes.ONE_ROW, use.call, message, action="warn")
        else:
            edit = Replace(use.call, (receiver, "(", data, f", training=False).numpy(){largest}"))
            yield CallChange(codes.ONE_ROW, use.call, f"{_FAILS}: the model is called directly", edit)


def batches_of_one(uses: Iterable[Use], context: Context) -> Iterator[CallChange]:
    """`predict(x, batch_size=1)` of more rows, each of which goes to the first replica alone."""
    if not context.migration.once(_has_lstm) or context.migration.once(_may_be_stateful):
        return
    rows = _Rows(context.facts, context.scopes)
    for use in uses:
        named = named_arguments(use.call, _ARGUMENTS) or {}
        size = named.get("batch_size")
        if size is not None and size.keyword is not None and _is_1(settled(size.value, context.scopes)):
            if "x" in named and not rows.is_one(named["x"].value):
                message = "in batches of one row the other replicas get none, on which an LSTM of Keras 3 fails"
                message += " (ValueError: Shape must be rank 1): batch_size is dropped"
                yield CallChange(codes.ONE_ROW, size, message, Revision(use.call, dropped=("batch_size",)))


def _has_lstm(migration: Migration) -> bool:
    """Whether a program names such a layer."""
    return any(
        names.canonical(name) in _FAILING
        for facts in migration.facts.modules.values()
        for name in set(facts.symbols.values())
    )


def _may_be_stateful(migration: Migration) -> bool:
    """Whether a program has layers that carry their state from one batch to the next."""
    return any(
        "stateful" in keywords(call) for facts in migration.facts.modules.values() for call in facts.module.calls
    )


_FILLED = frozenset(f"numpy.{name}" for name in ("zeros", "ones", "empty", "full"))
_RANDOM = frozenset(f"numpy.random.{name}" for name in ("random", "random_sample", "rand", "randn"))
_LISTED = frozenset({"numpy.array", "numpy.asarray", "keras.preprocessing.sequence.pad_sequences"})
_EXPANDED = frozenset({"numpy.expand_dims", "tensorflow.expand_dims"})
_SAME_ROWS = frozenset({"astype", "copy"})


class _Rows:
    """What is seen to have one row."""

    def __init__(self, facts: Facts, scopes: Scopes) -> None:
        self._facts, self._scopes = facts, scopes

    def is_one(self, node: cst.BaseExpression) -> bool:
        """Whether an expression has one row, or each of its inputs one, where one of its values is seen to."""
        if isinstance(node, cst.List):  # of inputs
            return bool(node.elements) and all(self._is_one(each.value, frozenset()) for each in node.elements)
        return self._is_one(node, frozenset())

    def _is_one(self, node: cst.BaseExpression, within: Set[cst.CSTNode]) -> bool:
        if isinstance(node, cst.Name):
            values = (value_of(binding) for binding in bindings_of(node, self._scopes))
            known = [value for value in values if value is not None]
            return node not in within and any(self._is_one(value, within | {node}) for value in known)
        if isinstance(node, cst.BinaryOperation):
            sides = (node.left, node.right)
            return any(isinstance(side, cst.BaseNumber) for side in sides) and any(
                self._is_one(side, within) for side in sides
            )
        if isinstance(node, cst.Subscript):
            return self._is_one_of(node.slice[0].slice)
        return isinstance(node, cst.Call) and self._is_made_one(node, within)

    def _is_one_of(self, part: cst.BaseSlice) -> bool:
        """Whether `[None]`, `[i:i + 1]` or `[[i]]` takes one row."""
        if isinstance(part, cst.Index):
            new = is_none(part.value) or self._facts.symbols.get(part.value) == "numpy.newaxis"
            return new or _has_one_element(part.value) or self._is_listed_one(part.value)
        if not isinstance(part, cst.Slice) or part.step is not None:
            return False
        lower, upper = part.lower, part.upper
        if lower is None or _number(lower) == 0:
            return upper is not None and _number(upper) == 1
        if upper is None:
            return isinstance(lower, cst.UnaryOperation) and _number(lower.expression) == 1
        if not isinstance(upper, cst.BinaryOperation) or not isinstance(upper.operator, cst.Add):
            return False
        return upper.left.deep_equals(lower) and _number(upper.right) == 1

    def _is_listed_one(self, node: cst.BaseExpression) -> bool:
        """`np.array([i])`"""
        if not isinstance(node, cst.Call) or not node.args:
            return False
        return self._facts.canonical(node.func) in _LISTED and _has_one_element(node.args[0].value)

    def _is_made_one(self, call: cst.Call, within: Set[cst.CSTNode]) -> bool:
        name = self._facts.canonical(call.func)
        arguments = [arg.value for arg in call.args]
        if not arguments:
            return self._keeps_rows(call, within)
        if name in _FILLED or name in _RANDOM:
            return _begins_with_one(arguments[0]) or (name in _RANDOM and len(arguments) > 1 and _is_1(arguments[0]))
        if name == "numpy.reshape":
            return len(arguments) > 1 and _begins_with_one(arguments[1])
        if name in _EXPANDED:
            axis = named_arguments(call, ("a" if name.startswith("numpy") else "input", "axis")) or {}
            return "axis" in axis and _number(axis["axis"].value) == 0
        if last_attribute(call.func) == "reshape":
            return _begins_with_one(arguments[0]) or (len(arguments) > 1 and _is_1(arguments[0]))
        return self._is_listed_one(call) or self._keeps_rows(call, within)

    def _keeps_rows(self, call: cst.Call, within: Set[cst.CSTNode]) -> bool:
        func = call.func
        return isinstance(func, cst.Attribute) and func.attr.value in _SAME_ROWS and self._is_one(func.value, within)


def _has_one_element(node: cst.BaseExpression) -> bool:
    return (
        isinstance(node, cst.List) and len(node.elements) == 1 and not isinstance(node.elements[0], cst.StarredElement)
    )


def _begins_with_one(node: cst.BaseExpression) -> bool:
    """Whether a shape is that of one row."""
    return isinstance(node, cst.Tuple | cst.List) and len(node.elements) > 1 and _is_1(node.elements[0].value)


def _is_1(node: cst.BaseExpression) -> bool:
    return _number(node) == 1


def _number(node: cst.BaseExpression) -> int | None:
    return node.evaluated_value if isinstance(node, cst.Integer) else None
