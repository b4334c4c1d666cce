"""`keras.applications.ResNet50`, which standalone Keras built otherwise than tf.keras and Keras 3 do."""

from __future__ import annotations

from collections.abc import Iterator

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.names.context import Context

_OLD = frozenset({"keras.applications.ResNet50", "keras.applications.resnet50.ResNet50"})


def check(context: Context) -> Iterator[CallChange]:
    """Say it: its weights and its training are others."""
    for call in context.facts.module.calls:
        if context.facts.called(call) in _OLD:
            message = (
                "ResNet50 of standalone Keras has an epsilon of 0.001 in its BatchNormalization, today it is 1e-5, "
                "and its layers have other names and another order: it trains differently, and old weights do not fit"
            )
            yield CallChange(codes.RESNETS, call, message, action="warn")
