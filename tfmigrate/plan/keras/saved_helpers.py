"""Models that are saved whole with a class or a function that is written into the program: what loads them needs it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

import libcst as cst

from tfmigrate.file_names import needs_in
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import passed_as
from tfmigrate.plan.keras.checkpoints import checkpoints
from tfmigrate.plan.keras.layer_places import models_by_node
from tfmigrate.plan.keras.saved_files import files_of
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.plan.names.runs import imported_by
from tfmigrate.understand.contents import models_of
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.values import ModelObject

_LOADERS = ("keras.models.load_model", "keras.models.model_from_json", "keras.models.model_from_config")


@dataclass(frozen=True)
class SavedHelper:
    """A class or function that is written into the program, and registered with Keras under its name."""

    code: str
    what: str
    """What a message calls it: "class BatchNorm"."""
    used_at: Mapping[Module, Set[cst.CSTNode]]
    """The nodes that are changed into uses of it; only modules that have some."""

    def files(self, context: Context) -> Iterator[CallChange]:
        """Each place that saves such a model, and each that may load one and does not know the helper.

        Where the program itself loads the file, and has the helper, nothing is said of what saves it.
        """
        facts = context.facts
        if not self.used_at:
            return
        knows = any(_in_one_process(facts.module, user, context.migration) for user in self.used_at)
        for call, path in _saves(facts, self._models(context.migration), context.migration):
            if not (knows and _is_loaded_again(call, path, context)):
                yield CallChange(self.code, call, needs_in(self.what), action="warn")
        if knows:
            return
        maker = min(module.path for module in self.used_at)
        for call in facts.module.calls:
            if facts.canonical(call.func) in _LOADERS:
                message = f"if the file holds a model of {maker}, its {self.what} is needed here: copy its definition"
                yield CallChange(self.code, call, f"{message}, or import it", action="warn")

    def _models(self, migration: Migration) -> Set[ModelObject]:
        """The models that are made with it."""
        models = migration.once(models_by_node)
        nodes = (node for used in self.used_at.values() for node in used)
        return frozenset[ModelObject]().union(*(models.get(node, ()) for node in nodes))


def _saves(
    facts: Facts, having: Set[ModelObject], migration: Migration
) -> Iterator[tuple[cst.Call, cst.BaseExpression | None]]:
    """The calls that save a whole model which is one of these, or may be one, with the path; a text has none."""
    seen: set[cst.Call] = set()
    for use in facts.uses:
        if use.method in ("save", "to_json") and use.is_of_model and use.call not in seen:
            if not use.models or not use.models.isdisjoint(having):
                seen.add(use.call)
                path = passed_as("filepath", 0, use.call) if use.method == "save" else None
                yield use.call, path.value if path is not None else None
    for call in facts.module.calls:
        if facts.canonical(call.func) == "keras.models.save_model" and call.args:
            models = frozenset[ModelObject]().union(*map(models_of, facts.options(call.args[0].value)))
            if not models or not models.isdisjoint(having):
                path = passed_as("filepath", 1, call)
                yield call, path.value if path is not None else None
    for checkpoint in migration.once(checkpoints).made_in(facts.module):
        only, to = checkpoint.given("save_weights_only"), checkpoint.given("filepath")
        if only is None or only.truth is not True:
            yield checkpoint.call, to.node if to is not None and to.facts is facts else None


def _is_loaded_again(call: cst.Call, path: cst.BaseExpression | None, context: Context) -> bool:
    """Whether the program itself loads what a call saves or returns, as far as the path or the variable shows."""
    facts, scopes = context.facts, context.scopes
    saved = settled(path, scopes) if path is not None else call
    loads = (load for load in facts.module.calls if load.args and facts.canonical(load.func) in _LOADERS)
    if any(settled(load.args[0].value, scopes) is saved for load in loads):
        return True
    files = context.migration.once(files_of)
    if path is None or facts.module not in files.paths.facts:
        return False
    endings, known = files.paths.endings(path, facts.module)
    return known and bool(endings) and all(ending.text in files.loaded for ending in endings)


def _in_one_process(module: Module, other: Module, migration: Migration) -> bool:
    """Whether one run loads both modules, since one imports the other."""
    imported = migration.once(imported_by)
    return other in imported[module] or module in imported[other]
