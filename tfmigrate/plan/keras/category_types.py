"""`to_categorical(labels, dtype="uint8")`: Keras 3 takes no dtype, and gives float64."""

from __future__ import annotations

from collections.abc import Iterator

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, named_arguments
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context

_NAMES = frozenset({"keras.utils.to_categorical", "keras.utils.np_utils.to_categorical"})
_PARAMETERS = ("y", "num_classes", "dtype")


def check(context: Context) -> Iterator[CallChange]:
    facts = context.facts
    for call in facts.module.calls:
        if facts.canonical(call.func) not in _NAMES:
            continue
        dtype = (named_arguments(call, _PARAMETERS) or {}).get("dtype")
        if dtype is None:
            continue
        message = "to_categorical() of Keras 3 has no dtype and returns float64: astype() gives the same array"
        place = ((2, "dtype"),) if dtype.keyword is None else ()
        edit = Replace(call, (call, ".astype(", dtype.value, ")"))
        without = Revision(call, named=place, dropped=("dtype",))
        yield CallChange(codes.CATEGORY_TYPES, dtype, message, without, more=(edit,))
