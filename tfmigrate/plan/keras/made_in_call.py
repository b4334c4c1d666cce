"""Variables that a layer makes in its call()."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.values import FunctionValue
from tfmigrate.walk import walk

_MAKERS = frozenset({"tensorflow.Variable", "tensorflow.compat.v1.Variable", "keras.backend.variable"})
_MODELS = frozenset({"keras.models.Model", "keras.Model"})


def check(context: Context) -> Iterator[CallChange]:
    """`seen = tf.Variable(0.)` in call(): a graph of TensorFlow 1 was built once, and held one variable."""
    facts = context.facts
    found: dict[cst.Call, CallChange] = {}
    for cls in facts.classes:
        bases = {names.canonical(base) for base in cls.outside_bases()}
        call = cls.lookup("call")
        if not isinstance(call, FunctionValue) or call.module is not facts.module:
            continue
        if not any(names.is_layer(base) or base in _MODELS for base in bases):
            continue
        for node in _always_made(call.node.body):
            name = facts.symbols.get(node.func, "")
            if names.canonical(name) in _MAKERS:
                message = (
                    "call() makes a variable each time it is traced, which TensorFlow 2 refuses in training: make it "
                    "once, in build(), and keep it on self"
                )
                found.setdefault(node, CallChange(codes.MADE_IN_CALL, node, message, action="warn"))
    yield from found.values()


def _always_made(body: cst.CSTNode) -> Iterator[cst.Call]:
    """The calls that no `if` leaves out: a variable may well be made the first time alone."""
    guarded = {inner for part in walk(body) if isinstance(part, cst.If | cst.IfExp) for inner in walk(part)}
    for part in walk(body):
        if isinstance(part, cst.Call) and part not in guarded:
            yield part
