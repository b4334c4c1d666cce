"""`layer.trainable = False` with BatchNormalization, which takes its moving means then in TensorFlow 2."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.old_keras import freezes_by_batch
from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.saved_helpers import SavedHelper
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.plan.names.runs import loaded_with
from tfmigrate.settings import Settings
from tfmigrate.understand import names
from tfmigrate.understand.contents import models_of
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.program import Module
from tfmigrate.understand.values import Literal, ModelObject

_LAYER = "keras.layers.BatchNormalization"
_HELPER = "BatchNorm"
_CHANGED = (
    "in training, a frozen BatchNormalization used the mean and variance of the batch up to Keras 2.3 and TensorFlow "
    "1.15, and uses its moving averages since TensorFlow 2"
)


def check(context: Context) -> Iterator[CallChange]:
    """In a program that freezes layers and was written for the old meaning: the layers that its own code makes keep it;
    each place that freezes is reported where others may be among them."""
    facts, settings = context.facts, context.settings
    made = context.migration.once(_old_layers).get(facts.module, [])
    helper = Helper.of(context.draft, _HELPER, "frozen_by_batch")
    changes = [
        CallChange(
            codes.FROZEN_BATCH_NORM, call, f"{_CHANGED}: {helper} does as before", Replace(call.func, helper.name)
        )
        for call in made
    ]
    yield from helper.brought_by(made, changes)
    together = context.migration.once(loaded_with)[facts.module]
    others = any(_has_others(known, settings) for module, known in context.modules.items() if module in together)
    for toggle in facts.toggles:
        loaded = any(_is_loaded(model, settings) for model in models_of(toggle.receiver))
        if toggle.assigned == Literal(False) and (others or loaded):
            message = f"{_CHANGED}: if a frozen layer is one, the model trains differently"
            yield CallChange(codes.FROZEN_BATCH_NORM, toggle.node, message, action="warn")
    yield from context.migration.once(_saved).files(context)


def _old_layers(migration: Migration) -> dict[Module, list[cst.Call]]:
    """The calls that make such layers where a run may freeze them, by their modules."""
    freezing = {module for module, facts in migration.facts.modules.items() if _freezes(facts)}
    made: dict[Module, list[cst.Call]] = {}
    for module, draft in migration.drafts.items() if freezing else ():
        for call in module.calls:
            known = draft.facts.symbols.get(call.func, "")
            if names.canonical(known) == _LAYER and _had_old_meaning(known, draft.settings):
                if not freezing.isdisjoint(migration.once(loaded_with)[module]):
                    made.setdefault(module, []).append(call)
    return made


def _saved(migration: Migration) -> SavedHelper:
    """The class in files that hold a whole model; modules that do not change define none."""
    made = {module: frozenset[cst.CSTNode](calls) for module, calls in migration.once(_old_layers).items()}
    names_of = {Helper.of(migration.drafts[module], _HELPER, "frozen_by_batch").name for module in made}
    return SavedHelper(codes.FROZEN_BATCH_NORM, f"class {min(names_of, default=_HELPER)}", made)


def _freezes(facts: Facts) -> bool:
    return any(toggle.assigned == Literal(False) for toggle in facts.toggles)


def _has_others(facts: Facts, settings: Settings) -> bool:
    """Whether a module has such layers that no call of its own makes: those of a subclass, or of a pretrained model."""
    called = {call.func for call in facts.module.calls}
    return any(
        (known == _LAYER and node not in called) or (names.is_pretrained(known) and ".VGG" not in known)
        for node, name in facts.symbols.items()
        if (known := names.canonical(name)) and _had_old_meaning(name, settings)
    )


def _is_loaded(model: ModelObject, settings: Settings) -> bool:
    """Whether a model, or one that it is built on, is read from a file, which may hold such layers."""
    return any(part.origin == "loaded" and _had_old_meaning(part.maker, settings) for part in model.base_models())


def _had_old_meaning(name: str, settings: Settings) -> bool:
    return freezes_by_batch(names.flavour(name), settings.written_for("tensorflow"))
