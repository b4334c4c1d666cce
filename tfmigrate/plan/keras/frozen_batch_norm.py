"""`layer.trainable = False` with BatchNormalization, which takes its moving means then in TensorFlow 2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from tfmigrate.old_keras import freezes_by_batch
from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.functions import mentions
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.layer_places import models_by_node
from tfmigrate.plan.keras.saved_helpers import SavedHelper
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.plan.names.runs import imported_by, loaded_with
from tfmigrate.settings import Settings
from tfmigrate.understand import names
from tfmigrate.understand.contents import models_of
from tfmigrate.understand.lifecycle import TRAINING, Facts, Toggle
from tfmigrate.understand.module import Module
from tfmigrate.understand.values import Literal, ModelObject, options
from tfmigrate.walk import nodes_in

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
            codes.FROZEN_BATCH_NORM, call, f"{_CHANGED}: {helper} behaves as before", Replace(call.func, helper.name)
        )
        for call in made
    ]
    yield from helper.brought_by(made, changes)
    together = context.migration.once(loaded_with)[facts.module]
    others = any(_has_others(known, settings) for module, known in context.modules.items() if module in together)
    for toggle in facts.toggles:
        loaded = any(_is_loaded(model, settings) for model in models_of(toggle.receiver))
        unused = _idle_function(toggle, context.migration)
        if toggle.assigned != Literal(False):
            continue
        if unused is not None and context.migration.once(_makes_any):
            message = f"{_CHANGED}: the layers stay, because nothing calls {unused}(), which would freeze them"
            yield CallChange(codes.FROZEN_BATCH_NORM, toggle.node, message, action="warn")
        elif others or loaded:
            message = f"{_CHANGED}: if a frozen layer is a BatchNormalization, the model trains differently"
            yield CallChange(codes.FROZEN_BATCH_NORM, toggle.node, message, action="warn")
    yield from context.migration.once(_saved).files(context)


def _old_layers(migration: Migration) -> dict[Module, list[cst.Call]]:
    """The calls that make such layers where a run may freeze them, by their modules."""
    modules = migration.facts.modules
    frozen_by = {module: frozen for module, facts in modules.items() if (frozen := _frozen(facts, migration))}
    made: dict[Module, list[cst.Call]] = {}
    for module, draft in migration.drafts.items() if frozen_by else ():
        for call in module.calls:
            known = draft.facts.called(call)
            if names.canonical(known) == _LAYER and _had_old_meaning(known, draft.settings):
                together = migration.once(loaded_with)[module]
                frozen = {each for other in frozen_by.keys() & together for each in frozen_by[other]}
                models = migration.once(models_by_node).get(call)
                if frozen and (None in frozen or models is None or not frozen.isdisjoint(models)):
                    made.setdefault(module, []).append(call)
    return made


def _makes_any(migration: Migration) -> bool:
    """Whether a module makes layers that had the old meaning."""
    return any(
        names.canonical(known) == _LAYER and _had_old_meaning(known, draft.settings)
        for draft in migration.drafts.values()
        for known in draft.facts.symbols.values()
    )


def _idle_function(toggle: Toggle, migration: Migration) -> str | None:
    """The function that freezes, by its name, where a script that trains does not call it, nor mentions it anywhere."""
    *_, outermost = toggle.site.chain()
    function, module = outermost.frame.function, outermost.frame.module
    if not isinstance(function, cst.FunctionDef) or function not in migration.once(_unmentioned):
        return None
    imported = migration.once(imported_by)
    trains = any(
        use.method in TRAINING and start.frame.function is None and module in imported[start.frame.module]
        for use in migration.facts.uses
        for *_, start in [use.site.chain()]
    )
    return function.name.value if trains else None


def _unmentioned(migration: Migration) -> frozenset[cst.FunctionDef]:
    """The functions at the top of a module that stand nowhere in the program but where they are defined."""
    modules = tuple(migration.drafts)
    return frozenset(
        unit
        for module in modules
        for unit in module.tree.body
        if isinstance(unit, cst.FunctionDef)
        and not unit.decorators
        and list(mentions(unit.name.value, modules)) == [unit.name]
        and not any(_imports_or_quotes(unit.name.value, other) for other in modules)
    )


def _imports_or_quotes(name: str, module: Module) -> bool:
    """Whether an import or a text of a module has a name."""
    if name not in module.text:
        return False
    texts = (node.value for node in module.all_of(cst.SimpleString))
    imported = (part.value for node in module.all_of(cst.ImportAlias) for part in nodes_in(node, cst.Name))
    return name in imported or any(name in text for text in texts)


def _frozen(facts: Facts, migration: Migration) -> set[ModelObject | None]:
    """The models that a module freezes, or layers of; None among them for what may be any."""
    modules = migration.facts.modules
    frozen: set[ModelObject | None] = set()
    for toggle in facts.toggles:
        if toggle.assigned == Literal(False) and _idle_function(toggle, migration) is None:
            known = [models_of(option) for option in options(toggle.receiver)]
            frozen.update(*known)
            if not all(models and all(_is_seen(model, modules) for model in models) for models in known):
                frozen.add(None)
    return frozen


def _is_seen(model: ModelObject, modules: Mapping[Module, Facts]) -> bool:
    """Whether its layers are known: not that of a class, of a file, or of a function that was read for another call."""
    call, facts = model.node, modules.get(model.site.frame.module)
    if model.instance is not None or model.origin == "loaded" or not isinstance(call, cst.Call) or facts is None:
        return False
    return facts.canonical(call.func) == names.canonical(model.maker)


def _saved(migration: Migration) -> SavedHelper:
    """The class in files that hold a whole model; modules that do not change define none."""
    made = {module: frozenset[cst.CSTNode](calls) for module, calls in migration.once(_old_layers).items()}
    names_of = {Helper.of(migration.drafts[module], _HELPER, "frozen_by_batch").name for module in made}
    return SavedHelper(codes.FROZEN_BATCH_NORM, f"class {min(names_of, default=_HELPER)}", made)


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
