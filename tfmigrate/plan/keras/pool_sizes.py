"""`AveragePooling2D()`, whose `pool_size` has no default in Keras 3."""

from __future__ import annotations

from collections.abc import Iterator

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, has_stars, passed_as
from tfmigrate.plan.names.context import Context

_DEFAULTS = {
    f"keras.layers.{name}{len(size)}D": str(size) if len(size) > 1 else str(size[0])
    for name in ("AveragePooling", "AvgPool")
    for size in ((2,), (2, 2), (2, 2, 2))
}
"""What every Keras 2 had; MaxPooling has it still."""


def check(context: Context) -> Iterator[CallChange]:
    for call in context.facts.module.calls:
        size = _DEFAULTS.get(context.facts.canonical(call.func))
        if size is not None and not has_stars(call) and passed_as("pool_size", 0, call) is None:
            message = f"`pool_size` of average pooling has no default in Keras 3; it was {size}"
            yield CallChange(codes.POOL_SIZES, call, message, Revision(call, set=(("pool_size", size),)))
