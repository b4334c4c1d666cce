"""`layer.add_loss(l2(0.1)(layer.kernel))`: a penalty of a weight, which Keras 3 computes once and forgets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.lifecycle import Facts

_HELPER = "add_penalty"


@dataclass(frozen=True)
class Penalty:
    """The parts of `layer.add_loss(regularizer(layer.weight))`."""

    layer: cst.BaseExpression
    weight: cst.Attribute
    regularizer: cst.Call


def penalty_of(call: cst.Call, facts: Facts) -> Penalty | None:
    """What a call of add_loss() penalises; None where that is not a weight of the layer that it is called on."""
    func = call.func
    if not isinstance(func, cst.Attribute) or func.attr.value != "add_loss" or len(call.args) != 1:
        return None
    penalty = call.args[0]
    if (
        penalty.star
        or penalty.keyword is not None
        or not isinstance(penalty.value, cst.Call)
        or len(penalty.value.args) != 1
    ):
        return None
    regularizer, weight = penalty.value.func, penalty.value.args[0].value
    if not isinstance(regularizer, cst.Call) or not isinstance(weight, cst.Attribute):
        return None
    known = facts.canonical(regularizer.func)
    if not known.startswith("keras.regularizers.") or not weight.value.deep_equals(func.value):
        return None
    return Penalty(func.value, weight, regularizer)


def check(context: Context) -> Iterator[CallChange]:
    """Give the weight its regularizer: measured equal on Keras 2 and 3, where add_loss() loses it on Keras 3."""
    facts, helper = context.facts, Helper.of(context.draft, _HELPER, "penalty")
    message = (
        f"Keras 3 ignores add_loss() outside a layer's call(), and Keras 2 raises ValueError: {helper}() adds it at "
        "each step"
    )
    changes: dict[cst.CSTNode, CallChange] = {}
    for call in facts.module.calls:
        penalty = penalty_of(call, facts)
        if penalty is not None:
            code = (f"{helper}(", penalty.layer, ", ", penalty.weight, ", ", penalty.regularizer, ")")
            changes[call] = CallChange(codes.WEIGHT_PENALTY, call, message, Replace(call, code))
    yield from helper.brought_by(changes, changes.values())
