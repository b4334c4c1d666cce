"""`y = K.concatenate([a, b])` between layers: tf.keras made a layer of it, and Keras 3 takes layers alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from functools import cached_property

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import has_stars
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.syntax import last_attribute
from tfmigrate.understand.values import Made, ModelObject, Parallel, are_tensors
from tfmigrate.walk import walk
from tfmigrate.written import Written

_ASKING = frozenset(
    f"keras.backend.{name}"
    for name in ("dtype", "eval", "function", "get_value", "gradients", "int_shape", "is_keras_tensor", "is_sparse",
                 "is_tensor", "ndim", "placeholder")
)  # fmt: skip
"""Functions of the backend that compute no tensor, or have rules of their own."""
_OF_TENSORFLOW = (
    "tensorflow.keras.",
    "tensorflow.compat.",
    "tensorflow.contrib.",
    "tensorflow.layers.",
    "tensorflow.data.",
)
_APART = frozenset({"add_loss", "GradientTape"})
"""What is added to the loss is no part of the network, and a loop of the program's own computes with tensors."""
_FAILS = (
    "tf.keras turned an operation on the outputs of layers into a layer; Keras 3 fails on it (A KerasTensor cannot "
    "be used as input to a TensorFlow function)"
)
_TOLD = "put it into a Lambda layer that is called with all of these outputs"


def check(context: Context) -> Iterator[CallChange]:
    """Operations of TensorFlow and of the backend in code that builds a functional model."""
    calls = context.facts.module.calls
    if any(last_attribute(call.func) in _APART for call in calls):
        return
    operations = _Operations(context)
    for call in calls:
        symbolic = operations.symbolic_arguments(call)
        if symbolic and operations.has_others(call, symbolic):
            yield CallChange(codes.SYMBOLIC_OPERATIONS, call, f"{_FAILS}: {_TOLD}", action="warn")
        elif symbolic:
            layer = operations.as_layer(call, symbolic)
            yield CallChange(
                codes.SYMBOLIC_OPERATIONS, call, f"{_FAILS}: it becomes a Lambda layer", Replace(call, layer.code)
            )


class _Operations:
    def __init__(self, context: Context) -> None:
        self._context, self._facts = context, context.facts

    @cached_property
    def _inside(self) -> Set[cst.CSTNode]:
        """What Keras calls with tensors: the methods of layers, models and the like, and functions in a line."""
        module = self._facts.module
        classes = [cls for cls in self._facts.classes if cls.closure.module is module]
        called = [cls.node for cls in classes if any(map(_is_called_by_keras, cls.outside_bases()))]
        return {node for part in (*called, *module.all_of(cst.Lambda)) for node in walk(part)}

    def as_layer(self, call: cst.Call, symbolic: Sequence[cst.BaseExpression]) -> Written:
        """The operation as a layer that is called with what it takes of the outputs of layers."""
        names_of = {node: "t" if len(symbolic) == 1 else f"t[{number}]" for number, node in enumerate(symbolic)}
        arguments = [
            Written.of(f"{arg.keyword.value}=" if arg.keyword else "", names_of.get(arg.value) or Written.at(arg.value))
            for arg in call.args
        ]
        given = Written.at(symbolic[0]) if len(symbolic) == 1 else self._listed(symbolic)
        layer = f"{self._context.tf}.keras.layers.Lambda"
        operation = Written.of(Written.at(call.func), "(", Written.joined(arguments, ", "), ")")
        return Written.of(f"{layer}(lambda t: ", operation, ")(", given, ")")

    def _listed(self, nodes: Sequence[cst.BaseExpression]) -> Written:
        return Written.of("[", Written.joined([Written.at(node) for node in nodes], ", "), "]")

    def symbolic_arguments(self, call: cst.Call) -> list[cst.BaseExpression]:
        """What an operation takes of the outputs of layers: expressions, or one list of them."""
        if not self._is_operation(call) or has_stars(call) or call in self._inside:
            return []
        found = [arg.value for arg in call.args if self._is_symbolic(arg.value) or self._are_symbolic(arg.value)]
        lists = [node for node in found if isinstance(node, cst.List | cst.Tuple)]
        return found if not lists or len(found) == 1 else []

    def has_others(self, call: cst.Call, symbolic: Sequence[cst.BaseExpression]) -> bool:
        """Whether an output of a layer is a part of another argument: `tf.reshape(a, [tf.shape(x)[0], 4])`."""
        others = (arg.value for arg in call.args if arg.value not in symbolic)
        return any(isinstance(part, cst.Name) and self._is_symbolic(part) for value in others for part in walk(value))

    def _is_operation(self, call: cst.Call) -> bool:
        symbol = self._facts.called(call)
        if names.flavour(symbol) == "tf.keras":
            known = names.canonical(symbol)
            return known.startswith("keras.backend.") and known not in _ASKING
        return symbol.startswith("tensorflow.") and not symbol.startswith(_OF_TENSORFLOW)

    def _are_symbolic(self, node: cst.BaseExpression) -> bool:
        """Whether a list holds such outputs alone; the parameter of a function that builds a part may be among them."""
        if not isinstance(node, cst.List | cst.Tuple) or not node.elements:
            return False
        values = [element.value for element in node.elements]
        return all(map(self._is_tensor, values)) and any(map(self._is_symbolic, values))

    def _is_tensor(self, node: cst.BaseExpression) -> bool:
        return are_tensors(self._facts.options(node))

    def _is_symbolic(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is surely the output of a layer, or of an operation on such."""
        made = settled(node, self._context.scopes) if self._is_tensor(node) else None
        if not isinstance(made, cst.Call) or not self._is_bound_here(node):
            return False
        if names.canonical(self._facts.called(made)).rpartition(".")[2] == "Input":
            return True
        callees = self._facts.options(made.func)
        if callees and all(map(_is_layer, callees)):
            return True
        if callees and all(isinstance(callee, ModelObject | Parallel) for callee in callees):
            return any(self._is_symbolic(arg.value) or self._are_symbolic(arg.value) for arg in made.args)
        return bool(self.symbolic_arguments(made))

    def _is_bound_here(self, node: cst.BaseExpression) -> bool:
        """Whether a variable is set in the function that reads it: a loss may read a tensor of the code round it."""
        scopes, module = self._context.scopes, self._facts.module
        read = scopes.occurrence(node) if isinstance(node, cst.Name) else None
        if read is None or not isinstance(node, cst.Name):
            return True
        bindings = [mention for mention in scopes.of_variable(node.value, read.scope) if mention.binds]
        here = module.function_round(read.unit)
        return all(module.function_round(binding.unit) is here for binding in bindings)


def _is_layer(value: object) -> bool:
    return isinstance(value, Made) and value.kind == "layer"


def _is_called_by_keras(base: str) -> bool:
    return names.flavour(base) is not None
