"""`if K.sum(y_true) == 0:` in what a graph is built of: Python asks the tensor, which has no value yet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import is_none, keywords, passed_as
from tfmigrate.plan.keras.compiled_functions import compiled, parameters_of
from tfmigrate.plan.keras.own_layers import calls_of_layers
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.ordering import ordered
from tfmigrate.understand.parameters import positional
from tfmigrate.understand.reaching import bindings_of, explicit, is_parameter, value_of
from tfmigrate.understand.scopes import Occurrence, Scopes
from tfmigrate.understand.syntax import asked_in, dotted, last_attribute
from tfmigrate.understand.values import FunctionValue, Partial, Value, function_of
from tfmigrate.walk import calls_in, nodes_in, walk

_Function = cst.FunctionDef | cst.Lambda
_OF_ARRAYS = re.compile(r"(keras\.backend|tensorflow(\.math|\.linalg|\.nn)?)\.(\w+)").fullmatch
_GIVING = frozenset(
    {
        "abs", "all", "any", "argmax", "argmin", "binary_crossentropy", "cast", "categorical_crossentropy",
        "clip", "clip_by_value", "concat", "concatenate", "cond", "cos", "count_nonzero", "cumsum", "dot", "equal",
        "exp", "expand_dims", "flatten", "floor", "gather", "greater", "greater_equal", "identity", "is_finite",
        "is_inf", "is_nan", "less", "less_equal", "log", "logical_and", "logical_not", "logical_or", "matmul",
        "max", "maximum", "mean", "min", "minimum", "multiply", "not_equal", "ones_like", "pow", "prod",
        "reduce_all", "reduce_any", "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum",
        "relu", "repeat", "reshape", "round", "shape", "sigmoid", "sign", "sin", "size", "softmax",
        "sparse_categorical_crossentropy", "sqrt", "square", "squeeze", "std", "stop_gradient", "subtract",
        "sum", "switch", "tanh", "tile", "transpose", "var", "where", "zeros_like",
    }
)  # fmt: skip
"""Functions of the backend and of TensorFlow that give a tensor where they are given one."""
_EQUAL = cst.Equal | cst.NotEqual | cst.In | cst.NotIn
_ORDER = cst.LessThan | cst.LessThanEqual | cst.GreaterThan | cst.GreaterThanEqual
_OBJECTS = (
    "a graph of TensorFlow 1 compared the tensor itself here, not its value, so {what} was always {result}; Keras "
    "3 stops with an error, and Keras 2 goes by the value. To train as before, write {result}; else compute it with "
    "tf.cond() or tf.where()"
)
_NO_VALUE = (
    "Python asks a tensor for its value here, which Keras 3 does not allow (OperatorNotAllowedInGraphError): compute "
    "it with tf.cond() or tf.where()"
)


def check(context: Context) -> Iterator[CallChange]:
    version = context.settings.written_for("tensorflow")
    by_object = version is None or version < (2,)
    for condition in context.migration.once(_conditions):
        if condition.module is context.facts.module:
            message = _NO_VALUE
            if condition.kind == "objects" and by_object:
                operator = next(part.operator for part in nodes_in(condition.node, cst.ComparisonTarget))
                differs = isinstance(operator, cst.NotEqual | cst.NotIn)
                what = f"`{context.facts.module.code(condition.node)}`"
                message = _OBJECTS.format(what=what, result=differs)
            yield CallChange(codes.TENSOR_CONDITIONS, condition.node, message, action="warn")


@dataclass(frozen=True)
class _Condition:
    module: Module
    node: cst.BaseExpression
    kind: Literal["objects", "value"]
    """Whether TensorFlow 1 compared objects, or needed the value too."""


@dataclass(frozen=True)
class _Traced:
    """A function that a graph is built with, and which of its parameters are tensors."""

    module: Module
    node: _Function
    tensors: frozenset[str]


def _conditions(migration: Migration) -> tuple[_Condition, ...]:
    """The conditions on tensors in what the program's losses, metrics and layers compute."""
    modules = migration.facts.modules
    if any(_runs_eagerly(call) for facts in modules.values() for call in facts.module.calls):
        return ()
    pending = [traced for facts in modules.values() for traced in _entries(facts)]
    seen: set[_Traced] = set()
    found: dict[cst.BaseExpression, _Condition] = {}
    while pending:
        traced = pending.pop(0)
        facts = modules.get(traced.module)
        if facts is None or traced in seen or _is_converted(traced.node):
            continue
        seen.add(traced)
        reader = _Reader(traced, facts, migration.scopes_of(traced.module))
        for condition in reader.conditions():
            found.setdefault(condition.node, condition)
        pending += reader.called()
    return tuple(found.values())


def _runs_eagerly(call: cst.Call) -> bool:
    eager = keywords(call).get("run_eagerly")
    return (eager is not None and dotted(eager.value) != "False") or dotted(call.func).endswith("run_functions_eagerly")


def _is_converted(node: _Function) -> bool:
    """Whether a function has a decorator: tf.function has its conditions become operations, another may do anything."""
    return isinstance(node, cst.FunctionDef) and any(
        dotted(each.decorator) not in ("staticmethod", "classmethod") for each in node.decorators
    )


def _entries(facts: Facts) -> Iterator[_Traced]:
    """What Keras calls with tensors: losses, metrics, functions of Lambda and Activation, call() of layers."""
    for shown in compiled(facts):
        for function in _functions(shown.values):
            yield _Traced(function.module, function.node, frozenset(parameters_of(function)[:2]))
    for call in facts.module.calls:
        if facts.canonical(call.func) in ("keras.layers.Lambda", "keras.layers.Activation"):
            given = passed_as("function", 0, call) or passed_as("activation", 0, call)
            if given is not None and isinstance(given.value, cst.Lambda):
                first = positional(given.value.params)[:1]
                yield _Traced(facts.module, given.value, frozenset(param.name.value for param in first))
            for function in _functions(facts.options(given.value)) if given is not None else ():
                yield _Traced(function.module, function.node, frozenset(parameters_of(function)[:1]))
    for method in calls_of_layers(facts):
        yield _Traced(method.module, method.node, frozenset(parameters_of(method)[:1]))


def _functions(values: Iterable[Value]) -> Iterator[FunctionValue]:
    for value in ordered(frozenset(values)):
        function = function_of(value.callee if isinstance(value, Partial) else value)
        if function is not None:
            yield function


class _Reader:
    """What of a function is a tensor."""

    def __init__(self, traced: _Traced, facts: Facts, scopes: Scopes) -> None:
        self._traced, self._facts, self._scopes = traced, facts, scopes
        self._open: set[str] = set()
        """Names whose values are being read: one that is computed from itself is what else it is computed from."""

    def conditions(self) -> Iterator[_Condition]:
        for part in walk(self._traced.node):
            if isinstance(part, cst.If | cst.IfExp | cst.While | cst.Assert | cst.CompIf):
                for asked in asked_in(part.test):
                    kind = self._kind(asked)
                    if kind is not None:
                        yield _Condition(self._traced.module, asked, kind)

    def called(self) -> Iterator[_Traced]:
        """The functions of the program that are given tensors."""
        for call in calls_in(self._traced.node):
            for function in _functions(self._facts.options(call.func)):
                passed = explicit(call.args, parameters_of(function))
                tensors = frozenset(name for name, arg in passed if name and self._is_tensor(arg.value))
                if tensors:
                    yield _Traced(function.module, function.node, tensors)

    def _kind(self, asked: cst.BaseExpression) -> Literal["objects", "value"] | None:
        if not isinstance(asked, cst.Comparison):
            is_value = not isinstance(asked, cst.Name) and self._is_tensor(asked)
            return "value" if is_value else None
        sides = [asked.left, *(target.comparator for target in asked.comparisons)]
        if len(sides) > 2 or any(is_none(side) or isinstance(side, cst.BaseString) for side in sides):
            return None
        operator = asked.comparisons[0].operator
        if not any(map(self._is_tensor, sides if not isinstance(operator, cst.In | cst.NotIn) else sides[:1])):
            return None
        return "objects" if isinstance(operator, _EQUAL) else "value" if isinstance(operator, _ORDER) else None

    def _is_tensor(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is a tensor for certain."""
        if isinstance(node, cst.Name):
            return self._is_tensor_by_name(node)
        if isinstance(node, cst.BinaryOperation):
            return self._is_tensor(node.left) or self._is_tensor(node.right)
        if isinstance(node, cst.UnaryOperation):
            return not isinstance(node.operator, cst.Not) and self._is_tensor(node.expression)
        if isinstance(node, cst.Subscript):
            return self._is_tensor(node.value)
        if isinstance(node, cst.Comparison):
            ordered_ = all(isinstance(target.operator, _ORDER) for target in node.comparisons)
            return ordered_ and (self._is_tensor(node.left) or self._is_tensor(node.comparisons[0].comparator))
        if not isinstance(node, cst.Call) or not self._gives_tensor(node.func):
            return False
        return any(self._is_tensor(part) for arg in node.args for part in _elements(arg.value))

    def _gives_tensor(self, func: cst.BaseExpression) -> bool:
        known = _OF_ARRAYS(self._facts.canonical(func))
        return known[3] in _GIVING if known is not None else last_attribute(func) == "all_gather"

    def _is_tensor_by_name(self, node: cst.Name) -> bool:
        if node.value in self._open:
            return True
        self._open.add(node.value)
        tensors = [self._is_bound_to_tensor(binding) for binding in bindings_of(node, self._scopes)]
        self._open.discard(node.value)
        return bool(tensors) and all(tensors)

    def _is_bound_to_tensor(self, binding: Occurrence) -> bool:
        if is_parameter(binding) or isinstance(binding.scope.node, cst.Lambda):
            name = binding.node.value if isinstance(binding.node, cst.Name) else ""
            return binding.scope.node is self._traced.node and name in self._traced.tensors
        value = value_of(binding)
        return value is not None and self._is_tensor(value)


def _elements(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    return [each.value for each in node.elements] if isinstance(node, cst.List | cst.Tuple) else [node]
