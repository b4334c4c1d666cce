"""`from keras_contrib.layers import CRF`: a package upon standalone Keras, which has no successor."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.names.context import Context
from tfmigrate.plan.names.keras_packages import imported_from

_PACKAGE = "keras_contrib"
_INSTEAD = {
    "InstanceNormalization": (
        "tf.keras.layers.GroupNormalization is similar, with groups=-1 for axis=-1 and groups=1 for axis=None; it "
        "adds its epsilon under the root, to the variance, where this one adds 1e-3 to the deviation"
    ),
    "GroupNormalization": (
        "tf.keras.layers.GroupNormalization groups the values differently: this one reshapes the picture without "
        "moving the channels of a group together"
    ),
    "Swish": "with the default beta it is tf.keras.layers.Activation('silu')",
    "CRF": "Keras has no such layer",
}


def check(context: Context) -> Iterator[CallChange]:
    """Each import of it, unless the program has a copy of its own."""
    for node, name in imported_from({_PACKAGE}, context):
        yield _told(node, name.rpartition(".")[2] if isinstance(node, cst.ImportAlias) else "")


def _told(node: cst.CSTNode, name: str) -> CallChange:
    instead = f"; {_INSTEAD[name]}" if name in _INSTEAD else ""
    message = (
        "keras_contrib was written for Keras up to 2.3, and calls functions that keras.backend no longer has: copy "
        f"the code that you use into the program, with tensorflow.keras for keras{instead}"
    )
    return CallChange(codes.KERAS_CONTRIB, node, message, action="warn")
