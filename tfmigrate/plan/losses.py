"""Losses of the user's own: what they return decides whether a strategy computes the same number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.calls import has_stars, is_none, keywords
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.interfaces import CallChange, calls_in
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.values import FunctionValue, Items, Mapping, Value, options
from tfmigrate.walk import children

_REDUCTIONS = frozenset(
    {
        *(f"keras.backend.{name}" for name in ("sum", "mean", "max", "min", "prod", "logsumexp", "std", "var")),
        *(f"tensorflow.reduce_{name}" for name in ("sum", "mean", "max", "min", "prod", "logsumexp")),
        *(f"tensorflow.math.reduce_{name}" for name in ("sum", "mean", "max", "min", "prod", "logsumexp")),
    }
)
_MEANS = frozenset({"keras.backend.mean", "tensorflow.reduce_mean", "tensorflow.math.reduce_mean"})
_ELEMENTWISE = frozenset(
    {
        *(f"keras.backend.{name}" for name in (
            "abs", "square", "sqrt", "exp", "log", "pow", "clip", "maximum", "minimum", "sign", "softplus", "sigmoid",
            "tanh", "sin", "cos", "cast", "binary_crossentropy",
        )),
        *(f"tensorflow.{name}" for name in (
            "abs", "square", "sqrt", "exp", "pow", "clip_by_value", "maximum", "minimum", "sign", "sigmoid", "tanh",
            "cast", "math.log", "math.abs", "math.square", "math.squared_difference", "math.pow", "math.exp",
        )),
    }
)  # fmt: skip
"""Functions whose result has the shape of their first argument."""


def batch_losses(facts: Facts) -> Iterator[CallChange]:
    """A loss that returns one number for the batch: Keras 3 multiplies it by the number of replicas.

    `return K.mean(x)` becomes `return K.mean(x, axis=-1)` where x surely has one row a sample, because Keras takes the
    mean of what a loss returns. Any other reduction over the batch is told.
    """
    done: set[cst.CSTNode] = set()
    for use in facts.uses:
        if use.method != "compile":
            continue
        loss = use.argument(1, "loss")
        for function in _functions(loss) if loss is not None else ():
            node = function.node
            here = function.module is facts.module and isinstance(node, cst.FunctionDef) and not function.is_generator
            if here and isinstance(node, cst.FunctionDef) and node not in done:
                done.add(node)
                yield from _loss(facts, node)


def _functions(value: Value) -> Iterator[FunctionValue]:
    for option in options(value):
        if isinstance(option, FunctionValue):
            yield option
        elif isinstance(option, Items | Mapping):
            for item in option.values:
                yield from _functions(item)


def _loss(facts: Facts, function: cst.FunctionDef) -> Iterator[CallChange]:
    reductions = [call for call in calls_in(function.body) if _is_whole_reduction(call, facts)]
    if not reductions:
        return
    returned = list(_returned(function.body))
    mended = [call for call in reductions if _is_mean_of_rows(call, facts, function) and call in returned]
    if len(returned) == 1 and len(reductions) == 1 and mended:
        call = mended[0]
        template = "{function}({rows}, axis=-1)"
        yield CallChange(
            codes.BATCH_LOSS,
            call,
            f"{function.name.value}() returned one mean for the batch, which Keras 3 multiplies by the number of "
            "replicas: it returns one value a sample, whose mean Keras takes itself",
            Replace(call, template, (("function", call.func), ("rows", call.args[0].value))),
        )
        return
    yield CallChange(
        codes.BATCH_LOSS,
        reductions[0],
        f"{function.name.value}() is a loss that reduces over the batch: under a strategy each replica reduces its own "
        "part, and Keras 3 multiplies a loss without a batch axis by the number of replicas; return one value a sample",
        action="warn",
    )


def _is_whole_reduction(call: cst.Call, facts: Facts) -> bool:
    """A reduction over all axes, the batch included."""
    if _name(call.func, facts) not in _REDUCTIONS or has_stars(call) or not call.args:
        return False
    axis = keywords(call).get("axis") or (call.args[1] if len(call.args) > 1 and call.args[1].keyword is None else None)
    return axis is None or is_none(axis.value)


def _name(node: cst.BaseExpression, facts: Facts) -> str:
    name = facts.symbols.get(node, "")
    return names.canonical(name) if names.flavour(name) else name


def _is_mean_of_rows(call: cst.Call, facts: Facts, function: cst.FunctionDef) -> bool:
    """`K.mean(x)` with nothing else, of an x that is computed element by element from the loss's two arguments."""
    parameters = [param.name.value for param in function.params.params]
    if _name(call.func, facts) not in _MEANS or len(call.args) != 1 or len(parameters) != 2:
        return False
    return _Elementwise(facts, frozenset(parameters)).is_rows(call.args[0].value)


@dataclass(frozen=True)
class _Elementwise:
    facts: Facts
    parameters: frozenset[str]

    def is_rows(self, node: cst.BaseExpression) -> bool:
        """Whether an expression has the shape of the predictions."""
        if isinstance(node, cst.Name):
            return node.value in self.parameters
        if isinstance(node, cst.UnaryOperation):
            return self.is_rows(node.expression)
        if isinstance(node, cst.BinaryOperation):
            sides = (node.left, node.right)
            return any(self.is_rows(side) for side in sides) and all(self._fits(side) for side in sides)
        if isinstance(node, cst.Call) and _name(node.func, self.facts) in _ELEMENTWISE and not has_stars(node):
            first, *rest = node.args
            return self.is_rows(first.value) and all(self._fits(arg.value) or self._is_word(arg.value) for arg in rest)
        return False

    def _fits(self, node: cst.BaseExpression) -> bool:
        """Rows, or a plain number that goes with every row."""
        if isinstance(node, cst.UnaryOperation):
            return self._fits(node.expression)
        if isinstance(node, cst.Call) and _name(node.func, self.facts) == "keras.backend.epsilon":
            return True
        return isinstance(node, cst.Integer | cst.Float) or self.is_rows(node)

    @staticmethod
    def _is_word(node: cst.BaseExpression) -> bool:
        """A type, or a flag."""
        return isinstance(node, cst.SimpleString | cst.Attribute) or (
            isinstance(node, cst.Name) and node.value in ("True", "False")
        )


def _returned(node: cst.CSTNode) -> Iterator[cst.BaseExpression | None]:
    """What a function returns itself, functions inside it left out."""
    for part in children(node):
        if isinstance(part, cst.Return):
            yield part.value
        elif not isinstance(part, cst.FunctionDef | cst.Lambda | cst.ClassDef):
            yield from _returned(part)
