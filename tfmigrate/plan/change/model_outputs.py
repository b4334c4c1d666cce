"""What a `Model(inputs, outputs)` is given."""

from __future__ import annotations

import libcst as cst

from tfmigrate.plan.change.calls import named_arguments
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.values import ModelObject

MODEL = ("inputs", "outputs", "name")


def outputs_given(model: ModelObject, facts: Facts) -> cst.BaseExpression | None:
    """The outputs as they are written; None for a model that is made in another way, or in another module."""
    return _given(model, facts, "outputs", "output")


def inputs_given(model: ModelObject, facts: Facts) -> cst.BaseExpression | None:
    """The inputs, in the same way."""
    return _given(model, facts, "inputs", "input")


def _given(model: ModelObject, facts: Facts, word: str, old: str) -> cst.BaseExpression | None:
    if names.canonical(model.maker) != "keras.models.Model" or not isinstance(model.node, cst.Call):
        return None
    named = named_arguments(model.node, MODEL) or {}
    given = named.get(word) or named.get(old)
    return given.value if given is not None and model.site.frame.module is facts.module else None
