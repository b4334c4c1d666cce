"""`fit(class_weight=compute_class_weight(...))`: an array did nothing in old Keras and is an error today."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, has_stars, is_none, keywords
from tfmigrate.plan.keras.methods import keras_calls
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.blocks import only_statement
from tfmigrate.understand.objects import setters_of
from tfmigrate.understand.reaching import origins, value_above, values_of
from tfmigrate.understand.values import Frame, function_of
from tfmigrate.walk import values_returned

_COMPUTED = frozenset({"sklearn.utils.class_weight.compute_class_weight", "sklearn.utils.compute_class_weight"})
_MAKES_ARRAYS = _COMPUTED | frozenset(
    f"numpy.{name}"
    for name in (
        *("array", "asarray", "ones", "zeros", "full", "ones_like", "zeros_like", "full_like", "concatenate"),
        *("divide", "multiply", "power", "reciprocal", "sqrt", "log", "log1p", "exp", "clip", "maximum", "minimum"),
        *("bincount", "load", "loadtxt", "genfromtxt"),
    )
)
_KEEPS_ARRAYS = frozenset({"astype", "copy", "round", "reshape", "flatten", "ravel", "tolist"})
_OF_NUMBERS = (cst.Divide, cst.FloorDivide, cst.Multiply, cst.Power, cst.Modulo)
"""No dict is the result of these; a Counter can be that of `+`, `-`, `&` and `|`."""
_BALANCED = ("class_weight", "classes", "y")
"""Parameters of compute_class_weight in order, from scikit-learn 0.16."""


def check(context: Context) -> Iterator[CallChange]:
    facts = context.facts
    for use in keras_calls(facts, "fit", "fit_generator", "train_on_batch"):
        argument = keywords(use.call).get("class_weight")
        if argument is not None and _Arrays(context).is_array(argument.value, use.site.frame):
            message = (
                "an array of class weights did nothing: Keras expects a dict, and today raises AttributeError; to "
                "weight the classes, which changes the training, write dict(enumerate(weights)) if they are 0, 1, 2 "
                "and so on"
            )
            edit = Revision(use.call, dropped=("class_weight",))
            yield CallChange(codes.CLASS_WEIGHT_WORDS, argument, message, edit)
    for call in facts.module.calls:
        count = sum(arg.keyword is None for arg in call.args)
        if facts.called(call) in _COMPUTED and 1 < count <= len(_BALANCED) and not has_stars(call):
            edit = Revision(call, named=tuple((position, _BALANCED[position]) for position in range(1, count)))
            message = "scikit-learn only takes `classes` and `y` by name (a TypeError since 1.0): the names are written"
            yield CallChange(codes.CLASS_WEIGHT_WORDS, call, message, edit)


class _Arrays:
    """Tells which expressions are NumPy arrays, whoever makes them: the caller, a function, a method of the object."""

    def __init__(self, context: Context) -> None:
        self._modules = context.modules
        self._scopes = {module: context.migration.scopes_of(module) for module in context.modules}
        self._asked: set[tuple[Frame, cst.BaseExpression]] = set()

    def is_array(self, node: cst.BaseExpression, frame: Frame) -> bool:
        """Whether an expression of an activation is an array in any case."""
        if (frame, node) in self._asked:
            return False
        self._asked.add((frame, node))
        # scikit-learn's module is called class_weight too, and its name is often given to the result.
        node = value_above(node, frame.module, self._scopes[frame.module]) or node
        for holder, value in values_of(node, frame, self._scopes):
            if isinstance(value, cst.Name):
                sources = origins(value, holder, self._scopes[holder.module])
                if not sources or None in sources:
                    return False
            elif not self._is_made(value, holder):
                return False
        return True

    def _is_made(self, node: cst.BaseExpression, frame: Frame) -> bool:
        if isinstance(node, cst.BinaryOperation):
            sides = (node.left, node.right)
            return isinstance(node.operator, _OF_NUMBERS) or any(self.is_array(side, frame) for side in sides)
        if isinstance(node, cst.Attribute):
            return self._is_set(node, frame)
        if not isinstance(node, cst.Call):
            return False
        facts = self._modules[frame.module]
        if facts.called(node) in _MAKES_ARRAYS:
            return True
        if isinstance(node.func, cst.Name) and node.func.value in ("list", "tuple") and len(node.args) == 1:
            return self.is_array(node.args[0].value, frame)
        if isinstance(node.func, cst.Attribute) and node.func.attr.value in _KEEPS_ARRAYS:
            return self.is_array(node.func.value, frame)
        functions = [function_of(callee) for callee in facts.options(node.func)]
        return bool(functions) and all(
            function is not None and self._returns_array(Frame(function.module, function.node, function.closure))
            for function in functions
        )

    def _returns_array(self, frame: Frame) -> bool:
        if not isinstance(frame.function, cst.FunctionDef):
            return False
        returned = list(values_returned(frame.function.body))
        return bool(returned) and all(value is not None and self.is_array(value, frame) for value in returned)

    def _is_set(self, node: cst.Attribute, frame: Frame) -> bool:
        """Whether methods of its class set an attribute of an object to arrays, but for a None to begin with."""
        owner = frame.owner
        if owner is None or not isinstance(node.value, cst.Name):
            return False
        given = []
        for cls in owner.ancestors():
            for method, unit in setters_of(cls, node.attr.value):
                small = only_statement(unit)
                if not isinstance(small, cst.Assign) or not isinstance(small.targets[0].target, cst.Attribute):
                    return False
                if not is_none(small.value):
                    module = cls.closure.module
                    given.append((small.value, Frame(module, method, cls.closure, owner=owner)))
        return bool(given) and all(self.is_array(value, where) for value, where in given)
