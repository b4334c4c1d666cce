"""`K.clear_session()` and `tf.reset_default_graph()` in a function that builds a model: in a strategy's scope, they end
it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.edits import Remove
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.blocks import only_statement
from tfmigrate.understand.contents import models_of

_CLEARING = frozenset({"keras.backend.clear_session", "tensorflow.reset_default_graph"})


def check(context: Context) -> Iterator[CallChange]:
    """The call goes from functions that build models and leave the wrapping to their callers."""
    facts, modules = context.facts, context.modules
    wraps = [wrap for known in modules.values() for wrap in known.wraps]
    models = {base for wrap in wraps for model in models_of(wrap.template) for base in model.base_models()}
    builders = {frame.function for model in models for frame in model.site.frame.chain()}
    builders -= {frame.function for wrap in wraps for frame in wrap.site.frame.chain()}
    for unit in facts.module.places if wraps else ():
        small = only_statement(unit)
        call = small.value if isinstance(small, cst.Expr) else None
        if not isinstance(call, cst.Call) or small is None:
            continue
        name = facts.canonical(call.func)
        if name.replace(".compat.v1", "") not in _CLEARING:
            continue
        function = facts.module.function_round(unit)
        if function is not None and function in builders:
            message = (
                f"{name.rpartition('.')[2]}() inside the scope of a strategy discards the scope, and leaving it "
                "raises IndexError: removed; if several models are built in turn, call it between them, outside the "
                "scope"
            )
            yield CallChange(codes.CLEARED_SESSIONS, call, message, Remove(small))
