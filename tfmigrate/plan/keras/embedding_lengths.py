"""`Embedding(1000, 64, input_length=40)` at the beginning of a Sequential, which Keras 3 leaves unbuilt."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, has_stars, is_none, keywords
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.syntax import last_attribute

_SEQUENTIAL = "keras.models.Sequential"


def check(context: Context) -> Iterator[CallChange]:
    """The length becomes the shape of its input, which builds the model on Keras 2 and 3."""
    facts = context.facts
    for call in _added(facts):
        if facts.canonical(call.func) != "keras.layers.Embedding" or has_stars(call):
            continue
        present = keywords(call)
        length = present.get("input_length")
        if length is None or "input_shape" in present or "batch_input_shape" in present:
            continue
        if is_none(length.value) or isinstance(length.value, cst.Tuple | cst.List):
            continue
        message = "Keras 3 ignores `input_length` and only builds the model when it trains: `input_shape` builds it"
        shape = ((length.value, ("(", length.value, ",)")),)
        edit = Revision(call, renamed=(("input_length", "input_shape"),), wrapped=shape)
        yield CallChange(codes.EMBEDDING_LENGTH, call, message, edit)


def _added(facts: Facts) -> Iterator[cst.Call]:
    """The calls that make the first layer of a list for Sequential, or a layer that `add()` is given."""
    for call in facts.module.calls:
        first = call.args[0].value if call.args else None
        if isinstance(first, cst.Call) and last_attribute(call.func) == "add":
            yield first
        elif isinstance(first, cst.List) and facts.canonical(call.func) == _SEQUENTIAL:
            begins = first.elements[0].value if first.elements else None
            if isinstance(begins, cst.Call):
                yield begins
