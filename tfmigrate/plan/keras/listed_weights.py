"""`self.trainable_weights = [self.gamma]`: a layer that lists its weights, which cannot be set since Keras 2.4."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import keywords, named_arguments
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.edits import Remove, Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.syntax import attribute_of, sole_target
from tfmigrate.walk import walk
from tfmigrate.written import Code

_HELPER = "add_variable"
_MESSAGE = "trainable_weights of a layer cannot be set in TensorFlow 2: it holds what add_weight() created"


def check(context: Context) -> Iterator[CallChange]:
    """The variables are made by add_weight(), and the list goes; where one is made otherwise, it is reported."""
    facts, helper = context.facts, Helper.of(context.draft, _HELPER, "listed_weight")
    helped = []
    for cls in facts.classes:
        bases = {names.canonical(context.tables.moves.moved(base)) for base in cls.outside_bases()}
        if cls.closure.module is not facts.module or not any(names.is_layer(base) for base in bases):
            continue
        layer = _Layer(cls.node, facts)
        for call, value, label in layer.variables:
            if layer.settled:
                code: Code = (f"{helper}(self, ", value, *((", name=", label) if label is not None else ()), ")")
                helped.append(CallChange(codes.LISTED_WEIGHTS, call, _MESSAGE, Replace(call, code)))
        for setting in layer.settings:
            if layer.settled:
                yield CallChange(codes.LISTED_WEIGHTS, setting, f"{_MESSAGE}; this line is removed", Remove(setting))
            else:
                message = f"{_MESSAGE}: create each variable with self.add_weight(), and remove this line"
                yield CallChange(codes.LISTED_WEIGHTS, setting, message, action="warn")
    yield from helper.brought_by([change.node for change in helped], helped)


class _Layer:
    """What a layer's methods make and list."""

    def __init__(self, cls: cst.ClassDef, facts: Facts) -> None:
        self.settings: list[cst.Assign | cst.AugAssign] = []
        """`self.trainable_weights = [...]`, and `+=`."""
        self.variables: list[tuple[cst.Call, cst.BaseExpression, cst.BaseExpression | None]] = []
        """K.variable(value, name=label) that is kept on self."""
        self._facts = facts
        weights: set[str] = set()
        layers: set[str] = set()
        self._listed_weights: set[str] = set()
        self._listed_layers: set[str] = set()
        """Those whose weights are listed: Keras finds a layer that is an attribute of another."""
        self.settled = True
        """Whether all that is listed is made so that add_weight() can make it, and all that is made is listed."""
        for node in walk(cls):
            target = _target(node)
            if target == "trainable_weights":
                assert isinstance(node, cst.Assign | cst.AugAssign)
                self.settings.append(node)
                self._list(node.value)
            elif target is not None and isinstance(node, cst.Assign):
                if self._makes(node.value):
                    weights.add(target)
                elif self._makes_layer(node.value):
                    layers.add(target)
        self.settled = self.settled and weights == self._listed_weights
        self.settled = self.settled and (not self._listed_layers or layers == self._listed_layers)

    def _list(self, value: cst.BaseExpression) -> None:
        """`[self.gamma]`, `self.dense.trainable_weights`, and sums of such."""
        if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Add):
            self._list(value.left)
            self._list(value.right)
            return
        listed: set[str | None] = {None}
        if isinstance(value, cst.List | cst.Tuple):
            listed = {attribute_of("self", element.value) for element in value.elements}
            self._listed_weights |= {attribute for attribute in listed if attribute is not None}
        elif isinstance(value, cst.Attribute) and value.attr.value in ("trainable_weights", "trainable_variables"):
            listed = {attribute_of("self", value.value)}
            self._listed_layers |= {attribute for attribute in listed if attribute is not None}
        self.settled = self.settled and None not in listed

    def _makes_layer(self, value: cst.BaseExpression) -> bool:
        return isinstance(value, cst.Call) and names.is_layer(self._facts.canonical(value.func))

    def _makes(self, value: cst.BaseExpression) -> bool:
        """Whether a value is a variable that is trained."""
        if not isinstance(value, cst.Call):
            return False
        if attribute_of("self", value.func) in ("add_weight", "add_variable"):
            trainable = keywords(value).get("trainable")
            return trainable is None or not trainable.value.deep_equals(cst.Name("False"))
        if self._facts.canonical(value.func) != "keras.backend.variable":
            return False
        named = named_arguments(value, ("value", "dtype", "name"))
        if named is None or not {"value"} <= named.keys() <= {"value", "name"}:
            self.settled = False
            return True
        label = named.get("name")
        self.variables.append((value, named["value"].value, label.value if label is not None else None))
        return True


def _target(node: cst.CSTNode) -> str | None:
    """The attribute of self that a statement sets."""
    target = node.target if isinstance(node, cst.AugAssign) else sole_target(node)
    return attribute_of("self", target) if target is not None else None
