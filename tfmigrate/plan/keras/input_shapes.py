"""`_obtain_input_shape(...)` of copies of keras.applications: the function is private now, and elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import named_arguments
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context

_HELPER = "obtain_input_shape"
_FUNCTIONS = frozenset(
    f"{package}.imagenet_utils.{name}"
    for package in ("keras.applications", "keras_applications")
    for name in ("_obtain_input_shape", "obtain_input_shape")
)
_PARAMETERS = ("input_shape", "default_size", "min_size", "data_format", "require_flatten", "weights")


def check(context: Context) -> Iterator[CallChange]:
    """The call is one of a function that the module brings along."""
    facts, helper = context.facts, Helper.of(context.draft, _HELPER)
    message = f"keras.applications has no such public function: {helper}() does the same"
    changes: dict[cst.CSTNode, CallChange] = {}
    for call in facts.module.calls:
        if facts.canonical(call.func) not in _FUNCTIONS:
            continue
        named = named_arguments(call, _PARAMETERS)
        if named is None or len(set(_PARAMETERS[:5]) - set(named)):
            continue  # As Keras 2.0 had it: left to TFM501.
        changes[call] = CallChange(codes.INPUT_SHAPES, call, message, Replace(call.func, helper.name))
    yield from helper.brought_by(changes, changes.values())
