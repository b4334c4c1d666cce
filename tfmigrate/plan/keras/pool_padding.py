"""`MaxPooling2D(padding="SAME")`: Keras 3 takes small letters alone there; its convolutions take both."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import passed_as, text_of
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.values import Literal
from tfmigrate.written import Code, as_operand

_POOLING = frozenset(
    f"keras.layers.{name}{n}D" for name in ("MaxPooling", "MaxPool", "AveragePooling", "AvgPool") for n in (1, 2, 3)
)


def check(context: Context) -> Iterator[CallChange]:
    for call in context.facts.module.calls:
        if context.facts.canonical(call.func) not in _POOLING:
            continue
        given = passed_as("padding", 2, call)
        if given is not None and _has_capitals(given.value, context.facts):
            message = "pooling layers of Keras 3 require a lower-case padding; every Keras 2 converted it"
            edit = Replace(given.value, _in_small_letters(given.value))
            yield CallChange(codes.POOL_PADDING, given.value, message, edit)


def _has_capitals(node: cst.BaseExpression, facts: Facts) -> bool:
    text = text_of(node)
    if text is not None:
        return text != text.lower()
    words = [option.value for option in facts.options(node) if isinstance(option, Literal)]
    return any(isinstance(word, str) and word != word.lower() for word in words)


def _in_small_letters(node: cst.BaseExpression) -> Code:
    return (node.value.lower(),) if isinstance(node, cst.SimpleString) else (*as_operand(node), ".lower()")
