"""One more layer of a kind before all others: it takes the name `dense`, and the others are `dense_1`, `dense_2`, ...

That is how standalone Keras counted, whatever the program does between, so the layers need not be counted here.
"""

from __future__ import annotations

from collections.abc import Mapping

from tfmigrate.plan.keras.creation_order import NAMED_IN_APPLICATIONS
from tfmigrate.plan.keras.unnamed_layers import kind_of, unnamed_layers
from tfmigrate.plan.names.context import Migration
from tfmigrate.understand import names
from tfmigrate.understand.module import Module

_CLEARING = frozenset({"keras.backend.clear_session", "tensorflow.reset_default_graph", "keras.backend.reset_uids"})
ARGUMENTS: Mapping[str, str] = {
    "Dense": "1",
    "Embedding": "1, 1",
    **dict.fromkeys(("Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose", "Conv3DTranspose"), "1, 1"),
    **dict.fromkeys(("SeparableConv1D", "SeparableConv2D"), "1, 1"),
    "DepthwiseConv2D": "1",
    "Activation": '"linear"',
    "Reshape": "(1,)",
    **dict.fromkeys(("AveragePooling1D", "AveragePooling2D", "MaxPooling1D", "MaxPooling2D"), "2"),
    **dict.fromkeys(
        (
            "Add", "Average", "BatchNormalization", "Flatten", "GlobalAveragePooling1D", "GlobalAveragePooling2D",
            "GlobalMaxPooling1D", "GlobalMaxPooling2D", "LeakyReLU", "Multiply", "PReLU", "UpSampling2D",
            "ZeroPadding2D",
        ),
        "",
    ),
}  # fmt: skip
"""The arguments of an unused layer of each kind. Layers that draw random numbers are not among them: they make a
variable, which starts the GPUs. Nor are Lambda and Concatenate, of which multi_gpu_model made some."""


def layer_of(kind: str, quote: str = '"') -> str:
    """The call that makes a layer of a kind, without `tf.` before it."""
    return f"keras.layers.{kind}({ARGUMENTS[kind]})".replace('"', quote)


def modules_by_kind(migration: Migration) -> Mapping[str, Module]:
    """The kinds of layers of which one more can be made first, with the one module that makes all without names."""
    modules = migration.facts.modules
    symbols = {names.plain(facts.canonical(call.func)) for facts in modules.values() for call in facts.module.calls}
    if symbols & _CLEARING or any(module.numbering.cells for module in modules):
        return {}
    pretrained = any(map(names.is_pretrained, symbols))
    found: dict[str, Module] = {}
    for kind, calls in migration.once(unnamed_layers).items():
        if kind not in ARGUMENTS or (pretrained and kind not in NAMED_IN_APPLICATIONS):
            continue
        made = [(module, call) for module, facts in modules.items() for call in facts.module.calls if call in calls]
        own = all(kind_of(call, modules[module]) == kind for module, call in made)
        if own and len({module for module, _ in made}) == 1:
            found[kind] = made[0][0]
    return found
