"""`layer.trainable = False` with BatchNormalization, which takes its moving means then in TensorFlow 2."""

from __future__ import annotations

from collections.abc import Iterator

from tfmigrate.old_keras import freezes_by_batch
from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.settings import Settings
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.values import Literal

_LAYER = "keras.layers.BatchNormalization"
_HELPER = "BatchNorm"
_CHANGED = (
    "in training, a frozen BatchNormalization used the mean and variance of the batch up to Keras 2.3 and TensorFlow "
    "1.15, and uses its moving averages since TensorFlow 2"
)


def check(context: Context) -> Iterator[CallChange]:
    """In a program that freezes layers and was written for the old meaning: the layers that its own code makes keep it;
    each place that freezes is reported where others may be among them."""
    if not context.migration.once(_freezes):
        return
    facts, settings = context.facts, context.settings
    named = {call: facts.symbols.get(call.func, "") for call in facts.module.calls}
    made = [
        call for call, known in named.items() if names.canonical(known) == _LAYER and _had_old_meaning(known, settings)
    ]
    helper = Helper.of(context.draft, _HELPER, "frozen_by_batch")
    changes = [
        CallChange(
            codes.FROZEN_BATCH_NORM, call, f"{_CHANGED}: {helper} does as before", Replace(call.func, helper.name)
        )
        for call in made
    ]
    yield from helper.brought_by(made, changes)
    if any(_has_others(module, settings) for module in context.modules.values()):
        for node, _, assigned in facts.toggles:
            if assigned == Literal(False):
                message = f"{_CHANGED}: if a frozen layer is one, the model trains differently"
                yield CallChange(codes.FROZEN_BATCH_NORM, node, message, action="warn")


def _freezes(migration: Migration) -> bool:
    return any(
        assigned == Literal(False) for facts in migration.facts.modules.values() for _, _, assigned in facts.toggles
    )


def _has_others(facts: Facts, settings: Settings) -> bool:
    """Whether a module has such layers that are made otherwise than by a call: by a class of its own, or by Keras."""
    called = {call.func for call in facts.module.calls}
    return any(
        (known == _LAYER and node not in called) or (names.is_pretrained(known) and ".VGG" not in known)
        for node, name in facts.symbols.items()
        if (known := names.canonical(name)) and _had_old_meaning(name, settings)
    )


def _had_old_meaning(name: str, settings: Settings) -> bool:
    return freezes_by_batch(names.flavour(name), settings.written_for("tensorflow"))
