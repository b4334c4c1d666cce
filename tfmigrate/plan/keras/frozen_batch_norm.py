"""`layer.trainable = False` with BatchNormalization, which takes its moving means then in TensorFlow 2."""

from __future__ import annotations

from collections.abc import Iterator, Set

import libcst as cst

from tfmigrate.old_keras import freezes_by_batch
from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import is_false
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.checkpoints import checkpoints
from tfmigrate.plan.keras.layer_places import models_by_call
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.settings import Settings
from tfmigrate.understand import names
from tfmigrate.understand.contents import all_models
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.program import Module
from tfmigrate.understand.values import Literal, ModelObject

_LAYER = "keras.layers.BatchNormalization"
_LOADERS = ("keras.models.load_model", "keras.models.model_from_json", "keras.models.model_from_config")
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
    made = context.migration.once(_old_layers).get(facts.module, [])
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
    yield from _files(context)


def _old_layers(migration: Migration) -> dict[Module, list[cst.Call]]:
    """The calls that make such layers, by their modules."""
    made: dict[Module, list[cst.Call]] = {}
    for module, draft in migration.drafts.items():
        for call in module.calls:
            known = draft.facts.symbols.get(call.func, "")
            if names.canonical(known) == _LAYER and _had_old_meaning(known, draft.settings):
                made.setdefault(module, []).append(call)
    return made


def _files(context: Context) -> Iterator[CallChange]:
    """A file that holds a whole model names the class, which whatever loads it must know."""
    facts, drafts, made = context.facts, context.migration.drafts, context.migration.once(_old_layers)
    if not made:
        return
    name = min(Helper.of(drafts[module], _HELPER, "frozen_by_batch").name for module in made)
    models = context.migration.once(models_by_call)
    having = frozenset[ModelObject]().union(*(models.get(call, ()) for calls in made.values() for call in calls))
    for node in _saves(facts, having):
        message = (
            f"the file names the class {name}: a script that loads the model needs it too; copy its definition there, "
            "or import it"
        )
        yield CallChange(codes.FROZEN_BATCH_NORM, node, message, action="warn")
    if any(_in_one_process(facts.module, module, context.migration) for module in made):
        return
    for call in facts.module.calls:
        if facts.canonical(call.func) in _LOADERS:
            maker = min(module.path for module in made)
            message = f"if the file holds a model of {maker}, its class {name} is needed here: copy its definition"
            yield CallChange(codes.FROZEN_BATCH_NORM, call, f"{message}, or import it", action="warn")


def _saves(facts: Facts, having: Set[ModelObject]) -> Iterator[cst.Call]:
    """The calls that save a whole model which has such a layer, or may have one; `having`: the models that have."""
    seen: set[cst.Call] = set()
    for use in facts.uses:
        if use.method in ("save", "to_json") and use.is_of_model and use.call not in seen:
            if not use.models or not having.isdisjoint(use.models):
                seen.add(use.call)
                yield use.call
    for call in facts.module.calls:
        if facts.canonical(call.func) == "keras.models.save_model" and call.args:
            models = all_models(facts.options(call.args[0].value))
            if not models or not having.isdisjoint(models):
                yield call
    for checkpoint in checkpoints(facts):
        only = checkpoint.named.get("save_weights_only")
        if only is None or is_false(only):
            yield checkpoint.call


def _in_one_process(module: Module, other: Module, migration: Migration) -> bool:
    """Whether what runs a module has another one loaded, as far as their imports say."""
    return other in _reached(module, migration) or module in _reached(other, migration)


def _reached(module: Module, migration: Migration) -> set[Module]:
    """A module, and what it imports, directly or through others."""
    pending, reached = [module], set[Module]()
    while pending:
        importing = pending.pop()
        if importing not in reached:
            reached.add(importing)
            pending.extend(imported for first, imported in migration.facts.imports if first is importing)
    return reached


def _freezes(migration: Migration) -> bool:
    return any(
        assigned == Literal(False) for facts in migration.facts.modules.values() for _, _, assigned in facts.toggles
    )


def _has_others(facts: Facts, settings: Settings) -> bool:
    """Whether a module has such layers that no call of its own makes: those of a subclass, or of a pretrained model."""
    called = {call.func for call in facts.module.calls}
    return any(
        (known == _LAYER and node not in called) or (names.is_pretrained(known) and ".VGG" not in known)
        for node, name in facts.symbols.items()
        if (known := names.canonical(name)) and _had_old_meaning(name, settings)
    )


def _had_old_meaning(name: str, settings: Settings) -> bool:
    return freezes_by_batch(names.flavour(name), settings.written_for("tensorflow"))
