"""What Keras calls with tensors while it builds a graph, and what in it is a tensor."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan.change.calls import keywords, passed_as
from tfmigrate.plan.keras.compiled_functions import compiled, parameters_of
from tfmigrate.plan.keras.own_layers import calls_of_layers
from tfmigrate.plan.names.context import Migration
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.ordering import ordered
from tfmigrate.understand.parameters import positional
from tfmigrate.understand.reaching import bindings_of, explicit, is_parameter, value_of
from tfmigrate.understand.scopes import Occurrence, Scopes
from tfmigrate.understand.syntax import dotted, last_attribute
from tfmigrate.understand.values import FunctionValue, Partial, Value, function_of
from tfmigrate.walk import calls_in

_Function = cst.FunctionDef | cst.Lambda
_OF_ARRAYS = re.compile(r"(keras\.backend|tensorflow(\.math|\.linalg|\.nn)?|numpy)\.(\w+)").fullmatch
_GIVING = frozenset(
    {
        "abs", "acos", "add", "add_n", "all", "any", "argmax", "argmin", "argsort", "asin", "atan", "avg_pool",
        "batch_dot", "batch_flatten", "batch_normalization", "bias_add", "binary_crossentropy", "boolean_mask",
        "broadcast_to", "cast", "categorical_crossentropy", "ceil", "clip", "clip_by_value", "concat", "concatenate",
        "cond", "confusion_matrix", "conv1d", "conv2d", "conv2d_transpose", "conv3d", "convert_to_tensor", "cos",
        "count_nonzero", "cumprod", "cumsum", "diag_part", "div", "divide", "dot", "dropout", "einsum", "elu",
        "equal", "erf", "exp", "expand_dims", "expm1", "flatten", "floor", "floordiv", "floormod", "foldl", "gather",
        "gather_nd", "greater", "greater_equal", "hard_sigmoid", "histogram_fixed_width", "identity", "is_finite",
        "is_inf", "is_nan", "l2_loss", "l2_normalize", "leaky_relu", "less", "less_equal", "log", "log1p",
        "log_sigmoid", "logical_and", "logical_not", "logical_or", "logical_xor", "logsumexp", "map_fn", "matmul",
        "matrix_diag_part", "max", "max_pool", "maximum", "mean", "min", "minimum", "mod", "multiply", "negative",
        "norm", "not_equal", "one_hot", "ones_like", "pad", "permute_dimensions", "pool2d", "pow", "prod", "range",
        "rank", "reduce_all", "reduce_any", "reduce_logsumexp", "reduce_max", "reduce_mean", "reduce_min",
        "reduce_prod", "reduce_std", "reduce_sum", "reduce_variance", "relu", "repeat", "repeat_elements", "reshape",
        "resize_images", "reverse", "reverse_sequence", "round", "rsqrt", "scan", "scatter_nd", "segment_mean",
        "segment_sum", "selu", "set_diag", "shape", "sigmoid", "sigmoid_cross_entropy_with_logits", "sign", "sin",
        "size", "slice", "softmax", "softmax_cross_entropy_with_logits", "softplus", "softsign", "sort",
        "sparse_categorical_crossentropy", "sparse_softmax_cross_entropy_with_logits", "sqrt", "square",
        "squared_difference", "squeeze", "stack", "std", "stop_gradient", "strided_slice", "subtract", "sum",
        "switch", "tan", "tanh", "tensor_scatter_nd_update", "tensordot", "tile", "to_double", "to_float", "to_int32",
        "to_int64", "trace", "transpose", "truediv", "unsorted_segment_sum", "var",
        "weighted_cross_entropy_with_logits", "where", "zeros_like",
    }
)  # fmt: skip
"""Functions of the backend and of TensorFlow that give a tensor where they are given one."""
ORDERING = cst.LessThan | cst.LessThanEqual | cst.GreaterThan | cst.GreaterThanEqual
"""The comparisons of tensors that give a tensor on every TensorFlow."""


@dataclass(frozen=True)
class Traced:
    """A function that a graph is built with, and which of its parameters are tensors."""

    module: Module
    node: _Function
    tensors: frozenset[str]


def traced_functions(migration: Migration) -> tuple[Reader, ...]:
    """Each function that a program's losses, metrics and layers are computed by; none where Keras runs them eagerly."""
    modules = migration.facts.modules
    if any(_runs_eagerly(call) for facts in modules.values() for call in facts.module.calls):
        return ()
    pending = [traced for facts in modules.values() for traced in _entries(facts)]
    found: dict[Traced, Reader] = {}
    while pending:
        traced = pending.pop(0)
        facts = modules.get(traced.module)
        if facts is None or traced in found or _is_converted(traced.node):
            continue
        found[traced] = Reader(traced, facts, migration.scopes_of(traced.module))
        pending += found[traced].called()
    return tuple(found.values())


def _runs_eagerly(call: cst.Call) -> bool:
    eager = keywords(call).get("run_eagerly")
    return (eager is not None and dotted(eager.value) != "False") or dotted(call.func).endswith("run_functions_eagerly")


def _is_converted(node: _Function) -> bool:
    """Whether a function has a decorator: tf.function has its conditions become operations, another may do anything."""
    return isinstance(node, cst.FunctionDef) and any(
        dotted(each.decorator) not in ("staticmethod", "classmethod") for each in node.decorators
    )


def _entries(facts: Facts) -> Iterator[Traced]:
    """What Keras calls with tensors: losses, metrics, functions of Lambda and Activation, call() of layers."""
    for shown in compiled(facts):
        for function in _functions(shown.values):
            yield Traced(function.module, function.node, frozenset(parameters_of(function)[:2]))
    for call in facts.module.calls:
        if facts.canonical(call.func) in ("keras.layers.Lambda", "keras.layers.Activation"):
            given = passed_as("function", 0, call) or passed_as("activation", 0, call)
            if given is not None and isinstance(given.value, cst.Lambda):
                first = positional(given.value.params)[:1]
                yield Traced(facts.module, given.value, frozenset(param.name.value for param in first))
            for function in _functions(facts.options(given.value)) if given is not None else ():
                yield Traced(function.module, function.node, frozenset(parameters_of(function)[:1]))
    for method in calls_of_layers(facts):
        yield Traced(method.module, method.node, frozenset(parameters_of(method)[:1]))


def _functions(values: Iterable[Value]) -> Iterator[FunctionValue]:
    for value in ordered(frozenset(values)):
        function = function_of(value.callee if isinstance(value, Partial) else value)
        if function is not None:
            yield function


class Reader:
    """What of a function is a tensor."""

    def __init__(self, traced: Traced, facts: Facts, scopes: Scopes) -> None:
        self.traced, self.facts, self._scopes = traced, facts, scopes
        self._open: set[str] = set()
        """Names whose values are being read: one that is computed from itself is what else it is computed from."""

    def called(self) -> Iterator[Traced]:
        """The functions of the program that are given tensors."""
        for call in calls_in(self.traced.node):
            for function in _functions(self.facts.options(call.func)):
                passed = explicit(call.args, parameters_of(function))
                tensors = frozenset(name for name, arg in passed if name and self.is_tensor(arg.value))
                if tensors:
                    yield Traced(function.module, function.node, tensors)

    def is_tensor(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is a tensor for certain."""
        if isinstance(node, cst.Name):
            return self._is_tensor_by_name(node)
        if isinstance(node, cst.BinaryOperation):
            return self.is_tensor(node.left) or self.is_tensor(node.right)
        if isinstance(node, cst.UnaryOperation):
            return not isinstance(node.operator, cst.Not) and self.is_tensor(node.expression)
        if isinstance(node, cst.Subscript):
            return self.is_tensor(node.value)
        if isinstance(node, cst.Comparison):
            ordered_ = all(isinstance(target.operator, ORDERING) for target in node.comparisons)
            return ordered_ and (self.is_tensor(node.left) or self.is_tensor(node.comparisons[0].comparator))
        if not isinstance(node, cst.Call) or not self._gives_tensor(node.func):
            return False
        return any(self.is_tensor(part) for arg in node.args for part in elements(arg.value))

    def computes(self, node: cst.BaseExpression) -> bool:
        """Whether a function of the backend or of TensorFlow is called there, which gives a tensor for an array too."""
        return any(
            self._gives_tensor(call.func) and not self.facts.called(call).startswith("numpy.")
            for call in calls_in(node)
        )

    def _gives_tensor(self, func: cst.BaseExpression) -> bool:
        known = _OF_ARRAYS(self.facts.canonical(func))
        if known is None:
            return last_attribute(func) == "all_gather"
        return known[3] in _GIVING and known[0] != "numpy.shape"

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
            return binding.scope.node is self.traced.node and name in self.traced.tensors
        value = value_of(binding)
        return value is not None and self.is_tensor(value)


def elements(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    return [each.value for each in node.elements] if isinstance(node, cst.List | cst.Tuple) else [node]
