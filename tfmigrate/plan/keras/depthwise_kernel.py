"""`layer.depthwise_kernel` of a DepthwiseConv2D, which is `kernel` in Keras 3 alone."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.syntax import attribute_of

_OLD = "depthwise_kernel"
_LAYERS = ("keras.layers.DepthwiseConv1D", "keras.layers.DepthwiseConv2D")
_MESSAGE = (
    "the kernel of a DepthwiseConv2D has another name in Keras 3: it is the first of the layer's weights in every "
    "version"
)


def check(context: Context) -> Iterator[CallChange]:
    """Where the module mentions such layers, and defines none that has an attribute of that name."""
    facts = context.facts
    read = []
    for node in facts.module.all_of(cst.Attribute):
        if node.attr.value != _OLD:
            continue
        if attribute_of("self", node) is not None:
            return  # a layer of the program's own
        read.append(node)
    written = {assigned.target for assigned in facts.module.all_of(cst.AssignTarget)}
    if read and any(names.canonical(name) in _LAYERS for name in facts.symbols.values()):
        for node in read:
            if node not in written:
                yield CallChange(codes.DEPTHWISE_KERNEL, node, _MESSAGE, Replace(node, (node.value, ".weights[0]")))
