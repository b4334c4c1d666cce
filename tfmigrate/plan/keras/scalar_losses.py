"""Losses of models already under a strategy that return one number for a batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.keras.compiled_functions import called, compiled, returned_by
from tfmigrate.plan.keras.mean_losses import as_rows
from tfmigrate.plan.keras.sample_shapes import is_whole_reduction
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.ordering import ordered
from tfmigrate.understand.values import FunctionValue, ModelObject
from tfmigrate.walk import walk


def scalar_losses(facts: Facts, models: Set[ModelObject], modules: Mapping[Module, Facts]) -> Iterator[CallChange]:
    """Losses of models already under a strategy that return one number for their part of the batch.

    What Keras 2 took for the mean of the parts Keras 3 multiplies by the number of replicas.
    `modules`: the facts of every module of the program. A loss of another module is reported where compile() gets it.
    """
    for shown in compiled(facts):
        if shown.is_metric or not shown.models & models:
            continue
        for value in ordered(shown.values):
            owner = modules.get(value.module) if isinstance(value, FunctionValue) else None
            if isinstance(value, FunctionValue) and owner is not None and _is_scalar_loss(value, owner):
                mended = as_rows(value, modules) if value.module is facts.module else None
                yield mended or CallChange(
                    codes.BATCH_LOSS,
                    shown.node,
                    f"{called(value)} returns one number for the batch, and Keras 3 multiplies it by the number of "
                    "replicas, in the gradient and in the report: return one value per sample",
                    action="warn",
                )


def _is_scalar_loss(function: FunctionValue, facts: Facts) -> bool:
    returned = returned_by(function)
    return bool(returned) and all(
        result is not None and _is_scalar(result, function.node, facts) for result in returned
    )


def _is_scalar(
    node: cst.BaseExpression,
    function: cst.FunctionDef | cst.Lambda,
    facts: Facts,
    seen: Set[cst.CSTNode] = frozenset(),
) -> bool:
    """Whether an expression is surely one number for the batch: made of whole reductions, and of nothing else.

    `seen`: names that it gives their value, which may be made of themselves.
    """
    if isinstance(node, cst.Call):
        return is_whole_reduction(node, facts)
    if isinstance(node, cst.UnaryOperation):
        return _is_scalar(node.expression, function, facts, seen)
    if isinstance(node, cst.BinaryOperation):
        sides = [side for side in (node.left, node.right) if not isinstance(side, cst.Integer | cst.Float)]
        return bool(sides) and all(_is_scalar(side, function, facts, seen) for side in sides)
    if isinstance(node, cst.Name) and node not in seen:
        values = [
            part.value
            for part in walk(function.body)
            if isinstance(part, cst.Assign)
            and any(
                isinstance(target.target, cst.Name) and target.target.value == node.value for target in part.targets
            )
        ]
        return len(values) == 1 and _is_scalar(values[0], function, facts, seen | {node})
    return False
