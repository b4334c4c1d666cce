"""Steps of custom loops in which each replica takes the gradient of its own mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.keras.sample_shapes import MEANS
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.reaching import added, bindings_of, value_of
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.syntax import last_attribute
from tfmigrate.understand.values import FunctionValue, Method, Value
from tfmigrate.walk import calls_in, values_returned, walk

_BY_HAND = frozenset({"all_reduce", "merge_call"})
"""Methods with which a step adds up, or averages, the gradients itself."""
_WEIGHTS = re.compile(r"weight|alpha|beta|gamma|lambda|coef")
_SUMS = frozenset({"tensorflow.add_n", "tensorflow.math.add_n", "tensorflow.reduce_sum", "tensorflow.math.reduce_sum"})
_Part = Literal["mean", "penalty"]
_BINDERS = frozenset({"staticmethod", "classmethod"})


def functions_among(values: Iterable[Value]) -> Iterator[FunctionValue]:
    """The functions of the program among some values, those of methods too."""
    for value in values:
        function = value.function if isinstance(value, Method) else value
        if isinstance(function, FunctionValue):
            yield function


def own_means(program: Program, step: FunctionValue) -> Iterator[CallChange]:
    """Gradients of a loss that is the mean of each replica's own part, applied as they are."""
    body = StepBody.of(program, step)
    calls = list(calls_in(step.node))
    methods = {call: call.func.attr.value for call in calls if isinstance(call.func, cst.Attribute)}
    if body is None or _BY_HAND.intersection(methods.values()):
        return
    for call, method in methods.items():
        # With a keyword (`experimental_aggregate_gradients=False`) it may add up nothing.
        if method != "apply_gradients" or len(call.args) != 1 or call.args[0].keyword is not None:
            continue
        for gradient in body.gradients(call.args[0].value):
            loss = gradient.args[0].value if gradient.args else None
            if loss is not None and body.is_mean(loss):
                message = (
                    "each replica computes the gradient of its own mean here, and apply_gradients() adds up all "
                    "gradients: with N replicas the sum is N times the gradient of the mean over the batch; divide "
                    "the loss by num_replicas_in_sync, or use tf.nn.compute_average_loss(...) on one value per "
                    "sample"
                )
                yield CallChange(codes.MEAN_OF_REPLICA, next(iter(body.values_of(loss)), loss), message, action="warn")


def _sum_of(parts: Iterable[_Part | None]) -> _Part | None:
    """What a sum is: a mean once one of its parts is."""
    known = set(parts)
    if None in known or not known:
        return None
    return "mean" if "mean" in known else "penalty"


@dataclass(frozen=True)
class Program:
    modules: Mapping[Module, Facts]
    scopes_of: Callable[[Module], Scopes]


@dataclass(frozen=True)
class StepBody:
    """What a function computes, as far as its plain assignments tell."""

    program: Program
    facts: Facts
    read: Set[cst.CSTNode] = frozenset()
    """This function and those that call it, which are being read."""
    following: Set[str] = frozenset()
    """The names whose values are being read."""

    @classmethod
    def of(cls, program: Program, function: FunctionValue, read: Set[cst.CSTNode] = frozenset()) -> StepBody | None:
        facts = program.modules.get(function.module)
        if (
            facts is None
            or function.node in read
            or not isinstance(function.node, cst.FunctionDef)
            or function.is_generator
        ):
            return None
        return cls(program, facts, read | {function.node})

    def values_of(self, node: cst.BaseExpression) -> Sequence[cst.BaseExpression]:
        """What a name is bound to and has added to it, in the order of the text; nothing if it is bound otherwise."""
        scopes = self.program.scopes_of(self.facts.module)
        if isinstance(node, cst.Name) and node.value in self.following:
            return ()
        values = [value_of(binding) or added(binding) for binding in bindings_of(node, scopes)]
        known = [value for value in values if value is not None]
        return known if len(known) == len(values) else ()

    def only_value(self, node: cst.BaseExpression) -> cst.BaseExpression | None:
        """What a name is, where it is bound in one place."""
        values = self.values_of(node)
        return values[0] if len(values) == 1 else None

    def gradients(self, applied: cst.BaseExpression) -> Iterator[cst.Call]:
        """The `tape.gradient(loss, ...)` that apply_gradients() is given as it is: `zip(gradients, variables)`."""
        listed = isinstance(applied, cst.Call) and isinstance(applied.func, cst.Name) and applied.func.value == "list"
        if listed and isinstance(applied, cst.Call) and len(applied.args) == 1:
            applied = applied.args[0].value
        is_zip = isinstance(applied, cst.Call) and isinstance(applied.func, cst.Name) and applied.func.value == "zip"
        if isinstance(applied, cst.Call) and is_zip and applied.args:
            value = applied.args[0].value
            expression = self.only_value(value) if isinstance(value, cst.Name) else value
            if (
                isinstance(expression, cst.Call)
                and isinstance(expression.func, cst.Attribute)
                and expression.func.attr.value == "gradient"
            ):
                yield expression

    def is_mean(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is a mean over all of what the replica has, or a weighted sum of such and of penalties
        on weights, which are the same on every replica."""
        return self._part(node) == "mean"

    def _part(self, node: cst.BaseExpression) -> _Part | None:
        """What an expression adds to a loss, where that is known."""
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
            return _sum_of(map(self._part, (node.left, node.right)))
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Multiply):
            sides = ((node.left, node.right), (node.right, node.left))
            return next((self._part(other) for left, other in sides if _is_weight(left)), None)
        if isinstance(node, cst.Name):
            inner = replace(self, following=self.following | {node.value})
            return _sum_of(map(inner._part, self.values_of(node)))
        if not isinstance(node, cst.Call):
            return None
        if self._is_penalty(node):
            return "penalty"
        return "mean" if self._takes_mean(node) or self._returns_mean(node) else None

    def _is_penalty(self, call: cst.Call) -> bool:
        """`tf.add_n(model.losses)`, the penalties that the layers of a model collect."""
        builtin = isinstance(call.func, cst.Name) and call.func.value == "sum"
        given = call.args[0].value if len(call.args) == 1 else None
        summed = last_attribute(given) == "losses"
        return summed and (builtin or self.facts.called(call) in _SUMS)

    def _takes_mean(self, call: cst.Call) -> bool:
        if self.facts.called(call) not in MEANS or len(call.args) != 1:
            return False
        argument = call.args[0].value
        divides = any(isinstance(inner, cst.Divide | cst.Multiply) for inner in walk(argument))
        return not (divides and any(_names_a_number_of_replicas(inner) for inner in walk(argument)))

    def _returns_mean(self, call: cst.Call) -> bool:
        """Whether a function of the program is called that returns such a mean, whichever of its returns is taken."""
        values = self.facts.options(call.func)
        plain = (function for function in functions_among(values) if self._is_plain(function))
        bodies = [(function, StepBody.of(self.program, function, self.read)) for function in plain]
        return len(bodies) == len(values) > 0 and all(
            body is not None and body.returns_mean(function) for function, body in bodies
        )

    def _is_plain(self, function: FunctionValue) -> bool:
        """Whether no decorator changes what a function returns."""
        facts = self.program.modules.get(function.module)
        decorators = function.node.decorators if isinstance(function.node, cst.FunctionDef) else ()
        made_by = [
            decorator.decorator.func if isinstance(decorator.decorator, cst.Call) else decorator.decorator
            for decorator in decorators
        ]
        return facts is not None and all(
            facts.symbols.get(maker) == "tensorflow.function"
            or (isinstance(maker, cst.Name) and maker.value in _BINDERS)
            for maker in made_by
        )

    def returns_mean(self, function: FunctionValue) -> bool:
        returned = list(values_returned(function.node.body))
        return bool(returned) and all(value is not None and self.is_mean(value) for value in returned)


def _is_weight(node: cst.BaseExpression) -> bool:
    """What one part of a loss counts more than another by, and no share of the batch."""
    if isinstance(node, cst.Integer):
        return True
    name = node.attr if isinstance(node, cst.Attribute) else node
    return isinstance(name, cst.Name) and _WEIGHTS.search(name.value.lower()) is not None


def _names_a_number_of_replicas(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Name) and any(word in node.value.lower() for word in ("replica", "gpu", "batch"))
