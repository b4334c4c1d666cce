"""`Input(tensor=K.constant(...))`: an input that brings its values, which only a graph of TensorFlow 1 had."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import keywords
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.syntax import last_attribute
from tfmigrate.understand.values import Opaque, Value

_TAKES = {"keras.layers.Input": "tensor", "keras.Input": "tensor", "keras.layers.InputLayer": "input_tensor"}
_VALUES = ("keras.backend.", "tensorflow.")
"""What begins like this gives tensors of TensorFlow, where it is not given one of a model."""
_MESSAGE = (
    "Keras 3 raises ValueError for an input made from a tensor with values, which old Keras did not feed: give "
    "Input() a shape and pass the values with the data, or use them in a layer of the model"
)


def check(context: Context) -> Iterator[CallChange]:
    facts = context.facts
    for call in facts.module.calls:
        parameter = _TAKES.get(facts.canonical(call.func))
        given = keywords(call).get(parameter) if parameter is not None else None
        values = facts.options(given.value) if given is not None else frozenset()
        if given is not None and values and all(_has_values(value, facts) for value in values):
            yield CallChange(codes.INPUT_TENSORS, given, _MESSAGE, action="warn")


def _has_values(value: Value, facts: Facts) -> bool:
    """Whether a value is surely no tensor of a model."""
    maker = value.node if isinstance(value, Opaque) else None
    if not isinstance(maker, cst.Call):
        return False
    if last_attribute(maker.func) == "get_next":
        return True
    return facts.canonical(maker.func).startswith(_VALUES)
