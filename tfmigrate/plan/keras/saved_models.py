"""The models that a program saves whole to HDF5 files, which hold what compile() was given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

import libcst as cst

from tfmigrate.file_names import HDF5, WEIGHTS
from tfmigrate.plan.change.calls import keywords, text_of
from tfmigrate.plan.change.paths import ending_of
from tfmigrate.plan.keras.file_calls import is_own_method, saves
from tfmigrate.plan.keras.saved_files import Written, files_of
from tfmigrate.plan.names.context import Migration
from tfmigrate.understand.contents import all_models
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.values import ModelObject


@dataclass(frozen=True)
class Saved:
    """Models of a program that are saved whole."""

    made_at: frozenset[cst.CSTNode]
    """The nodes that make them."""
    any_model: bool
    """Whether what is saved somewhere may be any model."""

    def __bool__(self) -> bool:
        return self.any_model or bool(self.made_at)

    def may_be(self, models: Set[ModelObject]) -> bool:
        """Whether one of these is saved; `models`: none where they are not known."""
        return self.any_model or not models or any(model.node in self.made_at for model in models)


def saved_to_hdf5(migration: Migration) -> Saved:
    """What some module saves as a whole model to an HDF5 file, or may."""
    files = migration.once(files_of)
    renamed = files.whole
    drafts = (draft for module, draft in migration.drafts.items() if module in migration.leaving)
    saved = [models for draft in drafts for models in _in_hdf5(draft.facts, draft.scopes, renamed)]
    made_at = frozenset(model.node for models in saved for model in models)
    kept = any(_is_kept_in_hdf5(one, renamed) for one in files.written if not one.by_save)
    return Saved(made_at, any_model=kept or any(not models for models in saved))


def _is_kept_in_hdf5(saved: Written, renamed: Mapping[str, str]) -> bool:
    """Whether a checkpoint of a whole model may be written to such a file."""
    stay = (_is_hdf5(literal.text, renamed) for literal in saved.literals)
    return saved.ending != WEIGHTS and (not saved.known or any(stay))


def _in_hdf5(facts: Facts, scopes: Scopes, renamed: Mapping[str, str]) -> Iterator[frozenset[ModelObject]]:
    """The models of each place that saves one to an HDF5 file, or to one whose ending is not known; none where they are
    not known."""
    surely = list(_saved_whole(facts))
    told = {path for path, _ in surely}
    for path, models in surely:
        text = text_of(ending_of(path, facts, scopes))
        if text is None or _is_hdf5(text, renamed):
            yield models
    for call in facts.module.calls:
        if call.args and _may_save(call, facts) and call.args[0].value not in told:
            text = text_of(ending_of(call.args[0].value, facts, scopes))
            if text is not None and _is_hdf5(text, renamed):
                yield frozenset()


def _saved_whole(facts: Facts) -> Iterator[tuple[cst.BaseExpression, frozenset[ModelObject]]]:
    """The paths of what surely saves a whole model, and the models."""
    for use in facts.uses:
        if use.method == "save" and use.is_of_model and use.call.args:
            yield keywords(use.call).get("filepath", use.call.args[0]).value, use.models
    for call in facts.module.calls:
        if facts.canonical(call.func) == "keras.models.save_model" and len(call.args) > 1:
            models = all_models(facts.options(keywords(call).get("model", call.args[0]).value))
            yield keywords(call).get("filepath", call.args[1]).value, models


def _is_hdf5(name: str, renamed: Mapping[str, str]) -> bool:
    """Whether a file has this format once its name has changed."""
    return renamed.get(name, name).endswith(HDF5)


def _may_save(call: cst.Call, facts: Facts) -> bool:
    """Whether a whole model may be saved by a method that the program does not define."""
    return saves(call) and not is_own_method(call, facts)
