"""`if K.sum(y_true) == 0:` in what a graph is built of: Python asks the tensor, which has no value yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import is_none
from tfmigrate.plan.edits import Replace, Unwrap
from tfmigrate.plan.keras.traced import ORDERING, Reader, traced_functions
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand import names
from tfmigrate.understand.module import Module
from tfmigrate.understand.syntax import asked_in
from tfmigrate.walk import walk

_EQUAL = cst.Equal | cst.NotEqual | cst.In | cst.NotIn
_OBJECTS = (
    "a graph of TensorFlow 1 compared the tensor itself here, not its value, so {what} was always {result}; Keras 3 "
    "raises an error, and Keras 2 uses the value. {advice}"
)
_BY_HAND = "To train as before, write {result}; otherwise compute it with tf.cond() or tf.where()"
_WRITTEN = "{result} is written; if the value was meant, compute it with tf.cond() or tf.where()"
_LEFT = "The branch that ran stays; if the value was meant, compute it with tf.cond() or tf.where()"
_NO_VALUE = (
    "Python tests the value of a tensor here, which Keras 3 does not allow (OperatorNotAllowedInGraphError): "
    "compute it with tf.cond() or tf.where()"
)


def check(context: Context) -> Iterator[CallChange]:
    version = context.settings.written_for("tensorflow")
    by_object = version is None or version < (2,)
    for condition in context.migration.once(_conditions):
        if condition.module is context.facts.module:
            message = _NO_VALUE
            if condition.kind == "objects" and by_object:
                differs = isinstance(_operator(condition.node), cst.NotEqual | cst.NotIn)
                what = f"`{context.facts.module.code(condition.node)}`"
                certain = condition.always_computes and context.migration.once(_in_graphs)
                left = _without_test(condition, differs) if certain else None
                advice = (_BY_HAND if not certain else _WRITTEN if left is None else _LEFT).format(result=differs)
                message = _OBJECTS.format(what=what, result=differs, advice=advice)
                if certain:
                    edit = left or Replace(condition.node, (str(differs),))
                    yield CallChange(codes.TENSOR_CONDITIONS, condition.node, message, edit)
                    continue
            yield CallChange(codes.TENSOR_CONDITIONS, condition.node, message, action="warn")


@dataclass(frozen=True)
class _Condition:
    module: Module
    node: cst.BaseExpression
    kind: Literal["objects", "value"]
    """Whether TensorFlow 1 compared objects, or needed the value too."""
    statement: cst.If | None
    """The `if` that asks this alone."""
    always_computes: bool
    """Whether it is a tensor whatever the function is called with; not of a loop, which never ended."""


def _without_test(condition: _Condition, result: bool) -> Unwrap | None:
    """The `if` without what never runs, where nobody would leave `if False:`; None for any other."""
    statement = condition.statement
    if statement is None or statement.orelse is not None or statement not in condition.module.places:
        return None
    return Unwrap(statement, statement.body if result else None)


def _operator(asked: cst.BaseExpression) -> cst.BaseCompOp | None:
    return asked.comparisons[0].operator if isinstance(asked, cst.Comparison) else None


def _in_graphs(migration: Migration) -> bool:
    """Whether all that is trained is a model of standalone Keras, whose functions were never converted by AutoGraph."""
    wraps = migration.facts.wraps
    flavours = {names.flavour(migration.facts.modules[wrap.site.frame.module].called(wrap.call)) for wrap in wraps}
    return flavours == {"keras"}


def _conditions(migration: Migration) -> tuple[_Condition, ...]:
    """The conditions on tensors in what the program's losses, metrics and layers compute."""
    found: dict[cst.BaseExpression, _Condition] = {}
    for reader in migration.once(traced_functions):
        for condition in _conditions_of(reader):
            found.setdefault(condition.node, condition)
    return tuple(found.values())


def _conditions_of(reader: Reader) -> Iterator[_Condition]:
    for part in walk(reader.traced.node):
        if isinstance(part, cst.If | cst.IfExp | cst.While | cst.Assert | cst.CompIf):
            for asked in asked_in(part.test):
                kind = _kind(asked, reader)
                if kind is not None:
                    computes = not isinstance(part, cst.While) and reader.computes(asked)
                    alone = part if isinstance(part, cst.If) and part.test is asked else None
                    yield _Condition(reader.traced.module, asked, kind, alone, computes)


def _kind(asked: cst.BaseExpression, reader: Reader) -> Literal["objects", "value"] | None:
    if not isinstance(asked, cst.Comparison):
        is_value = not isinstance(asked, cst.Name) and reader.is_tensor(asked)
        return "value" if is_value else None
    sides = [asked.left, *(target.comparator for target in asked.comparisons)]
    if len(sides) > 2 or any(is_none(side) or isinstance(side, cst.BaseString) for side in sides):
        return None
    operator = asked.comparisons[0].operator
    if not any(map(reader.is_tensor, sides if not isinstance(operator, cst.In | cst.NotIn) else sides[:1])):
        return None
    return "objects" if isinstance(operator, _EQUAL) else "value" if isinstance(operator, ORDERING) else None
