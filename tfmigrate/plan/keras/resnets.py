"""`keras.applications.ResNet50`, which standalone Keras built otherwise than tf.keras and Keras 3 do."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import given_arguments, is_false, text_of
from tfmigrate.plan.names.context import Context

_OLD = frozenset({"keras.applications.ResNet50", "keras.applications.resnet50.ResNet50"})


def check(context: Context) -> Iterator[CallChange]:
    """Say it: its weights and its training are others."""
    for call in context.facts.module.calls:
        if context.facts.called(call) in _OLD:
            message = (
                "ResNet50 of standalone Keras has an epsilon of 0.001 in its BatchNormalization, today's has 1e-5, "
                "and its layers have other names and a different order: it trains differently, and old weights do "
                "not fit"
            )
            if _ended_in_a_mean(call, context):
                message += _MEAN
            yield CallChange(codes.RESNETS, call, message, action="warn")


def _ended_in_a_mean(call: cst.Call, context: Context) -> bool:
    """Whether the network may have been one of Keras before 2.2, and is used without its top, and not for the mean of
    each channel, which is the mean of means as well."""
    if context.settings.written_before("keras", {"keras": (2, 2)}) is False:
        return False
    if any(called in _MEANS for called in map(context.facts.called, context.facts.module.calls)):
        return False
    named = given_arguments(call, _PARAMETERS)
    if named is None:
        return False
    top, pooling = named.get("include_top"), named.get("pooling")
    return top is not None and is_false(top.value) and (pooling is None or text_of(pooling.value) != "avg")


_MEANS = ("keras.layers.GlobalAveragePooling2D", "keras.layers.GlobalAvgPool2D")
_PARAMETERS = ("include_top", "weights", "input_tensor", "input_shape", "pooling", "classes")
_MEAN = (
    "; before Keras 2.2 it ended with `include_top=False` too in an AveragePooling2D((7, 7)), so that 224 pixels gave "
    "(1, 1, 2048), which are (7, 7, 2048) now: a program of that time needs this layer behind it"
)
