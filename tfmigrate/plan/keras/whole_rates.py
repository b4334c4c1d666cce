"""`SGD(lr=20)`: Keras 3 takes only a float for a learning rate, and for the momentum of SGD."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import has_stars, keywords
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.values import Literal
from tfmigrate.written import Code

_RATES = frozenset({"lr", "learning_rate"})
_SINGLE = frozenset({"numpy.float32", "numpy.float16"})
"""Functions whose result is no float of Python's, as that of np.float64 is."""


def check(context: Context) -> Iterator[CallChange]:
    facts, scopes = context.facts, context.scopes
    for call in facts.module.calls:
        known = facts.canonical(call.func)
        if not names.is_optimizer(facts.called(call)) or has_stars(call):
            continue
        for what, node in _numbers(call, known):
            code = _as_float(node, facts, scopes)
            if code is not None:
                message = f"Keras 3 accepts no integer and no NumPy number as {what}: it becomes a float"
                yield CallChange(codes.NUMPY_INTEGERS, node, message, Replace(node, code))


def _numbers(call: cst.Call, known: str) -> Iterator[tuple[str, cst.BaseExpression]]:
    given = keywords(call)
    places = [arg.value for arg in call.args if arg.keyword is None]
    rates = [given[name].value for name in sorted(_RATES & given.keys())] or places[:1]
    yield from (("a learning rate", rate) for rate in rates)
    if known == "keras.optimizers.SGD":
        momentum = [given["momentum"].value] if "momentum" in given else places[1:2]
        yield from (("the momentum", value) for value in momentum)


def _as_float(node: cst.BaseExpression, facts: Facts, scopes: Scopes) -> Code | None:
    """The number as a float; None where it may be one already."""
    if isinstance(node, cst.Integer):
        return (f"{node.value}.0",) if node.value.isdecimal() else ("float(", node, ")")
    value = settled(node, scopes)
    is_whole = isinstance(value, cst.Integer)
    is_single = facts.called(value) in _SINGLE
    kinds = {type(option.value) if isinstance(option, Literal) else None for option in facts.options(node)}
    return ("float(", node, ")") if is_whole or is_single or int in kinds <= {int, float} else None
