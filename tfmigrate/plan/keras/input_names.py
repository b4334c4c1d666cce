"""`model.input_names`: a model of Keras 3 has `output_names` alone."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.models_named import may_be_model


def check(context: Context) -> Iterator[CallChange]:
    """Each read of it becomes the names of the model's inputs, which are the same on Keras 2 and 3."""
    facts = context.facts
    for node in facts.module.all_of(cst.Attribute):
        if node.attr.value == "input_names" and may_be_model(node.value, facts):
            message = "a model of Keras 3 has no `input_names`: the names of its inputs are written"
            edit = Replace(node, ("[each.name for each in ", node.value, ".inputs]"))
            yield CallChange(codes.INPUT_NAMES, node, message, edit)
