"""What becomes of the axes of a loss's arguments: whether an expression still has a value for each sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan.change.calls import has_stars, is_flag, is_none, keywords, passed_as
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.values import Literal

REDUCTIONS = frozenset(
    {
        *(f"keras.backend.{name}" for name in ("sum", "mean", "max", "min", "prod", "logsumexp", "std", "var")),
        *(f"tensorflow.reduce_{name}" for name in ("sum", "mean", "max", "min", "prod", "logsumexp")),
        *(f"tensorflow.math.reduce_{name}" for name in ("sum", "mean", "max", "min", "prod", "logsumexp")),
    }
)
MEANS = frozenset({"keras.backend.mean", "tensorflow.reduce_mean", "tensorflow.math.reduce_mean"})
_ELEMENTWISE = frozenset(
    {
        *(f"keras.backend.{name}" for name in (
            "abs", "square", "sqrt", "exp", "log", "pow", "clip", "maximum", "minimum", "sign", "softplus", "sigmoid",
            "tanh", "sin", "cos", "cast", "binary_crossentropy", "equal", "not_equal", "greater", "greater_equal",
            "less", "less_equal", "ones_like", "zeros_like", "round", "relu", "stop_gradient",
        )),
        *(f"tensorflow.{name}" for name in (
            "abs", "square", "sqrt", "exp", "pow", "clip_by_value", "maximum", "minimum", "sign", "sigmoid", "tanh",
            "cast", "math.log", "math.abs", "math.square", "math.squared_difference", "math.pow", "math.exp", "log",
            "log1p", "math.log1p", "math.sigmoid", "math.maximum", "math.minimum", "nn.sigmoid", "nn.softplus",
            "nn.relu", "equal", "not_equal", "greater", "greater_equal", "less", "less_equal", "math.equal",
            "math.not_equal",
            "math.greater", "math.greater_equal", "math.less", "math.less_equal", "ones_like", "zeros_like",
            "stop_gradient", "round", "to_float", "squared_difference", "add", "subtract", "multiply", "divide",
            "math.add", "math.subtract", "math.multiply", "math.divide", "nn.sigmoid_cross_entropy_with_logits",
        )),
    }
)  # fmt: skip
"""Functions whose result has the shape of their first argument."""
_CHOICES = frozenset({"tensorflow.where", "tensorflow.compat.v1.where", "tensorflow.compat.v2.where"})
_BY_SAMPLE = frozenset(
    {
        *(f"keras.losses.{name}" for name in (
            "mean_squared_error", "mean_absolute_error", "mean_absolute_percentage_error",
            "mean_squared_logarithmic_error", "binary_crossentropy", "categorical_crossentropy",
            "sparse_categorical_crossentropy", "kullback_leibler_divergence", "poisson", "hinge", "squared_hinge",
        )),
        "keras.backend.categorical_crossentropy", "keras.backend.sparse_categorical_crossentropy",
        "tensorflow.nn.softmax_cross_entropy_with_logits", "tensorflow.nn.softmax_cross_entropy_with_logits_v2",
        "tensorflow.nn.sparse_softmax_cross_entropy_with_logits",
    }
)  # fmt: skip
"""Losses of the libraries, whose result has lost the last axis of the prediction."""
_PREDICTIONS = frozenset({"y_pred", "output", "logits"})
_NORMS = frozenset({"tensorflow.norm", "tensorflow.linalg.norm"})
_SAME_SHAPE = frozenset(
    {"keras.backend.l2_normalize", "tensorflow.math.l2_normalize", "tensorflow.nn.l2_normalize", "tensorflow.identity"}
)
"""Functions of all of a sample's values whose result has the shape of their first argument."""


_CHOICE = 3
"""Arguments of a choice between two values."""
_PAIR = 2
"""A target and a prediction."""


def is_whole_reduction(call: cst.Call, facts: Facts) -> bool:
    """A reduction over all axes, the batch included."""
    if name_of(call.func, facts) not in REDUCTIONS or has_stars(call) or not call.args:
        return False
    return not axes_of(call)


def name_of(node: cst.BaseExpression, facts: Facts) -> str:
    """The qualified name of what an expression names in a library, that of Keras the same for all of its flavours."""
    name = facts.symbols.get(node, "")
    return names.canonical(name) if names.flavour(name) else name


@dataclass(frozen=True)
class SampleShape:
    """Reads expressions that are computed for each sample by itself, so that their first axis is still the batch."""

    facts: Facts
    parameters: frozenset[str]
    """The names of the loss's arguments."""
    variables: Mapping[cst.Name, cst.BaseExpression | None]
    """What the names that the loss reads have been bound to in it; None where that is unknown."""

    def lost_axes(self, node: cst.BaseExpression) -> int | None:
        """How many axes of a loss's argument an expression has lost; None where its first one may not be the batch."""
        if isinstance(node, cst.Name):
            if node in self.variables:
                value = self.variables[node]
                return self.lost_axes(value) if value is not None else None
            return 0 if node.value in self.parameters else None
        if isinstance(node, cst.UnaryOperation):
            return self.lost_axes(node.expression)
        if isinstance(node, cst.BinaryOperation):
            return self._together([node.left, node.right])
        if isinstance(node, cst.Comparison):
            return self._together([node.left, *(target.comparator for target in node.comparisons)])
        if isinstance(node, cst.Subscript):
            return self._cut(node)
        return self._of_call(node) if isinstance(node, cst.Call) else None

    def _of_call(self, node: cst.Call) -> int | None:
        if has_stars(node) or not node.args:
            return None
        name, (first, *rest) = name_of(node.func, self.facts), node.args
        if name in _CHOICES:
            return self._together([arg.value for arg in node.args]) if len(node.args) == _CHOICE else None
        if name in _BY_SAMPLE:
            return self._by_sample(node)
        if name in _ELEMENTWISE:
            return self._together([first.value, *(arg.value for arg in rest if not _is_word(arg.value))])
        if name in _SAME_SHAPE:
            return self.lost_axes(first.value)
        return self._reduced(node) if name in REDUCTIONS | _NORMS else None

    def _by_sample(self, call: cst.Call) -> int | None:
        """A loss of a library, given nothing but a target and a prediction, and flags."""
        named = [arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value in _PREDICTIONS]
        places = [arg.value for arg in call.args if arg.keyword is None]
        others = [arg for arg in call.args if arg.keyword is not None and arg.keyword.value not in _PREDICTIONS]
        if any(arg.keyword.value in ("axis", "dim") for arg in others if arg.keyword is not None):
            return None
        given = named or places[1:2]
        lost = self.lost_axes(given[0]) if given and len(places) <= _PAIR else None
        return None if lost is None else lost + 1

    def _together(self, sides: list[cst.BaseExpression]) -> int | None:
        """Of values that are computed with each other: all of one shape, or plain numbers."""
        lost = {self.lost_axes(side) for side in sides if not self.is_number(side)}
        return lost.pop() if len(lost) == 1 else None

    def is_number(self, node: cst.BaseExpression) -> bool:
        """A plain number, which goes with every sample."""
        if isinstance(node, cst.UnaryOperation):
            return self.is_number(node.expression)
        if isinstance(node, cst.BinaryOperation):
            return self.is_number(node.left) and self.is_number(node.right)
        if isinstance(node, cst.Call) and name_of(node.func, self.facts) == "keras.backend.epsilon":
            return True
        value = self.facts.values.get(node)
        known = isinstance(value, Literal) and isinstance(value.value, int | float)
        return isinstance(node, cst.Integer | cst.Float) or known

    def means_in(self, node: cst.BaseExpression) -> list[cst.Call] | None:
        """The means over everything that an expression is a sum of, each times a number; None where it is more.

        The mean of such a sum is the sum of the means.
        """
        if isinstance(node, cst.Call):
            return [node] if is_whole_reduction(node, self.facts) and name_of(node.func, self.facts) in MEANS else None
        if isinstance(node, cst.Name):
            value = self.variables.get(node)
            return self.means_in(value) if value is not None else None
        if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus | cst.Plus):
            return self.means_in(node.expression)
        if not isinstance(node, cst.BinaryOperation):
            return None
        if self.is_number(node.right):
            linear = isinstance(node.operator, cst.Add | cst.Subtract | cst.Multiply | cst.Divide)
            return self.means_in(node.left) if linear else None
        if self.is_number(node.left):
            linear = isinstance(node.operator, cst.Add | cst.Subtract | cst.Multiply)
            return self.means_in(node.right) if linear else None
        left, right = self.means_in(node.left), self.means_in(node.right)
        linear = isinstance(node.operator, cst.Add | cst.Subtract)
        return left + right if linear and left is not None and right is not None else None

    def _cut(self, node: cst.Subscript) -> int | None:
        """`p[:, 1:3, 0]`: all samples."""
        lost = self.lost_axes(node.value)
        (first, *others) = (element.slice for element in node.slice)
        whole = isinstance(first, cst.Slice) and not any((first.lower, first.upper, first.step))
        all_but_the_last = isinstance(first, cst.Index) and isinstance(first.value, cst.Ellipsis) and len(others) == 1
        if lost is None or not (whole or (all_but_the_last and not lost)):
            return None
        indices = [other.value for other in others if isinstance(other, cst.Index)]
        return lost + len(indices) if all(isinstance(index, cst.Integer) for index in indices) else None

    def _reduced(self, call: cst.Call) -> int | None:
        """A reduction over axes behind the first. One counted from the end may be the first where others are gone."""
        lost, axes = self.lost_axes(call.args[0].value), axes_of(call)
        if lost is None or not axes:
            return None
        numbers = [_whole_number(axis) for axis in axes]
        if any(axis is None or axis == 0 or (axis < 0 and (lost or len(axes) > 1)) for axis in numbers):
            return None
        keepdims = keywords(call).get("keepdims")
        return lost + len(axes) if keepdims is None else None


def axes_of(call: cst.Call) -> list[cst.BaseExpression]:
    """The axes that a reduction is given, one by one; nothing where it is given none."""
    axis = passed_as("axis", 1, call)
    if axis is None or is_none(axis.value):
        return []
    several = isinstance(axis.value, cst.Tuple | cst.List)
    return [element.value for element in axis.value.elements] if several else [axis.value]  # type: ignore[attr-defined]


def _whole_number(node: cst.BaseExpression) -> int | None:
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        number = _whole_number(node.expression)
        return None if number is None else -number
    return node.evaluated_value if isinstance(node, cst.Integer) else None


def _is_word(node: cst.BaseExpression) -> bool:
    """A type, or a flag."""
    return isinstance(node, cst.SimpleString | cst.Attribute) or is_flag(node)
