"""`SeparableConv2D(32, 3, kernel_initializer='he_normal')`: it has no such kernel, and Keras 2 ignored the argument."""

from __future__ import annotations

from collections.abc import Iterator

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, keywords
from tfmigrate.plan.names.context import Context

_KERNELS = {
    "DepthwiseConv2D": ("depthwise",),
    "SeparableConv1D": ("depthwise", "pointwise"),
    "SeparableConv2D": ("depthwise", "pointwise"),
}
"""Layers, and the kernels that they have instead."""
_ARGUMENTS = ("kernel_initializer", "kernel_regularizer", "kernel_constraint")


def check(context: Context) -> Iterator[CallChange]:
    facts = context.facts
    for call in facts.module.calls:
        given = keywords(call)
        names = [name for name in _ARGUMENTS if name in given]
        layer = facts.canonical(call.func).rpartition("keras.layers.")[2] if names else ""
        layer = layer.replace("Convolution", "Conv")
        for name in names if layer in _KERNELS else ():
            others = " and ".join(name.replace("kernel", kernel) for kernel in _KERNELS[layer])
            message = f"{layer} ignored `{name}`, and Keras 3 rejects it: it is removed ({others} would have an effect)"
            yield CallChange(codes.SEPARABLE_KERNELS, given[name], message, Revision(call, dropped=(name,)))
