"""`layer.trainable = False` with BatchNormalization, which takes its moving means then in TensorFlow 2."""

from __future__ import annotations

from collections.abc import Iterator

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.names.context import Context
from tfmigrate.settings import Settings
from tfmigrate.understand import names
from tfmigrate.understand.values import Literal

_LAYER = "keras.layers.BatchNormalization"
_MESSAGE = (
    "a frozen BatchNormalization took its mean and variance from the batch in training, up to Keras 2.3 and TensorFlow "
    "1.15; TensorFlow 2 takes the moving ones: if a frozen layer is one, the model trains differently"
)


def check(context: Context) -> Iterator[CallChange]:
    """Each place that freezes layers, in a program that was written for the old one and has such a layer."""
    modules = context.modules.values()
    old = any(_is_old_layer(name, context.settings) for facts in modules for name in facts.symbols.values())
    for node, _, assigned in context.facts.toggles if old else ():
        if assigned == Literal(False):
            yield CallChange(codes.FROZEN_BATCH_NORM, node, _MESSAGE, action="warn")


def _is_old_layer(name: str, settings: Settings) -> bool:
    """BatchNormalization, or a network that is made with it, of a Keras that had the old meaning."""
    known = names.canonical(name)
    if known != _LAYER and (not names.is_pretrained(known) or ".VGG" in known):
        return False
    if names.flavour(name) == "keras":
        return True
    version = settings.written_for("tensorflow")
    return version is not None and version < (2,)
