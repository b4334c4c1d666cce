"""`K.set_learning_phase`: a switch for the whole program that Keras 3 does not have."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.edits import Remove
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.blocks import only_statement
from tfmigrate.understand.lifecycle import TRAINING, Facts
from tfmigrate.understand.values import Literal

_SET = "keras.backend.set_learning_phase"
_INFERENCE = frozenset({"evaluate", "predict", "predict_on_batch", "evaluate_generator", "predict_generator"})


def check(context: Context) -> Iterator[CallChange]:
    """A call goes where it said what Keras does by itself: 1 where the program trains, 0 where it does not."""
    facts, modules = context.facts, context.modules
    used = {use.method for known in modules.values() for use in known.uses}
    for unit in facts.module.places:
        small = only_statement(unit)
        call = small.value if isinstance(small, cst.Expr) else None
        if not isinstance(call, cst.Call) or facts.canonical(call.func) != _SET:
            continue
        assert small is not None
        phase = _phase(call, facts)
        if phase == 1:
            message = "fit() runs layers in training mode anyway: set_learning_phase(1) adds nothing"
            if used & _INFERENCE or used & TRAINING:
                message += (
                    "; evaluation and predictions, which it put into training mode too, now run in inference mode"
                )
            yield CallChange(codes.LEARNING_PHASE, call, message, Remove(small))
        elif phase == 0 and not used & TRAINING:
            message = "nothing is trained here, and predict() and evaluate() run layers in inference mode anyway"
            yield CallChange(codes.LEARNING_PHASE, call, message, Remove(small))
        else:
            message = (
                "Keras 3 has no learning phase for the whole program: pass training=False to the layers or models that "
                "must not be in training mode while others train, and remove this"
            )
            yield CallChange(codes.LEARNING_PHASE, call.func, message, action="warn")


def _phase(call: cst.Call, facts: Facts) -> int | None:
    """What is set, where that is plain."""
    if len(call.args) != 1 or call.args[0].star:
        return None
    node = call.args[0].value
    if isinstance(node, cst.Integer):
        return node.evaluated_value
    if isinstance(node, cst.Name) and node.value in ("True", "False"):
        return int(node.value == "True")
    known = {
        int(option.value)
        for option in facts.options(node)
        if isinstance(option, Literal) and isinstance(option.value, int)
    }
    return known.pop() if len(known) == len(facts.options(node)) == 1 else None
