"""`base.trainable = True` after compile() and before the first training, which the old Keras took no notice of."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import keywords
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand.blocks import Unit
from tfmigrate.understand.contents import all_opaque_sites, models_of, opaque_sites
from tfmigrate.understand.lifecycle import TRAINING, Toggle, Use
from tfmigrate.understand.module import Module
from tfmigrate.understand.values import Literal, ModelObject, Site, Sites, Value

_MESSAGE = (
    "{set_} between compile() and the training at {training}: old Keras trained what was trainable at compile(), so "
    "this had no effect; Keras 3 reads it when the training starts. Remove it to train as before, or call compile() "
    "after it if it is meant to have an effect"
)


@dataclass(frozen=True)
class _Change:
    """A change that a model is first trained with, though it was compiled without it."""

    toggle: Toggle
    module: Module
    node: cst.BaseExpression
    """What makes the change where the training is seen too: the assignment, or a call that leads to it."""
    trained: Site


def check(context: Context) -> Iterator[CallChange]:
    """Each change for which no compile() follows before the model is first trained. What two models that are trained in
    turns need is the matter of TFM401."""
    module, told = context.facts.module, set[cst.CSTNode]()
    for change in context.migration.once(_changes):
        if change.module is module and change.node not in told:
            told.add(change.node)
            toggle = change.toggle
            where = toggle.site.frame.module.place(toggle.node, module)
            set_ = "set" if change.node is toggle.node else f"this call sets `trainable` ({where})"
            message = _MESSAGE.format(set_=set_, training=module.place(change.trained.unit, module))
            yield CallChange(codes.CHANGED_TRAINABLE, change.node, message, action="warn")


def _changes(migration: Migration) -> tuple[_Change, ...]:
    reader = _Reader(migration)
    changes = (reader.change(toggle) for facts in migration.facts.modules.values() for toggle in facts.toggles)
    return tuple(change for change in changes if change is not None)


class _Reader:
    def __init__(self, migration: Migration) -> None:
        modules = migration.facts.modules
        self._toggles = [toggle for facts in modules.values() for toggle in facts.toggles]
        self._uses = migration.facts.uses
        calls = (call for module in modules for call in module.calls)
        self._set_in_calls = any("trainable" in keywords(call) for call in calls)

    def change(self, toggle: Toggle) -> _Change | None:
        part = _sites(toggle.receiver)
        compiles = [use for use in self._compiles(part) if not self._is_in_turns(use)] if part else []
        if not compiles or self._changes_nothing(toggle):
            return None
        node: cst.BaseExpression | None = toggle.node
        for set_ in toggle.site.chain():
            trained = self._trained_after(set_, toggle.site, compiles)
            if trained is not None and node is not None:
                return _Change(toggle, set_.frame.module, node, trained)
            node = set_.frame.call_node
        return None

    def _changes_nothing(self, toggle: Toggle) -> bool:
        """Whether what is set was so already: all that the program sets of these models is this value, and it is that
        of the layers of Keras, or of the same model when it was compiled."""
        value, assigned = toggle.receiver, toggle.assigned
        part = _sites(value)
        loaded = any(model.origin == "loaded" for whole in models_of(value) for model in whole.base_models())
        others = (other for other in self._toggles if other.assigned != assigned)
        if loaded or self._set_in_calls or any(not part.isdisjoint(_sites(other.receiver)) for other in others):
            return False
        compiled = [dict(use.trainable).get(value) for use in self._compiles(part) if isinstance(value, ModelObject)]
        same = bool(compiled) and all(known == assigned for known in compiled)
        return assigned == Literal(True) or (assigned == Literal(False) and same)

    def _trained_after(self, set_: Site, changed: Site, compiles: Collection[Use]) -> Site | None:
        """The training that begins with what is changed, at `changed`, under this statement."""
        for number, use in enumerate(self._uses):
            if use.method in TRAINING and any(_is_same(use, compiled) for compiled in compiles):
                here = use.site.lifted(set_.frame)
                if here is not None and self._is_between(set_, changed, here, self._before(number), compiles):
                    return here
        return None

    def _before(self, number: int) -> list[Use]:
        """What is done before a use with its model: compiled and trained."""
        noted = TRAINING | {"compile"}
        return [use for use in self._uses[:number] if use.method in noted and _is_same(use, self._uses[number])]

    @staticmethod
    def _is_between(set_: Site, changed: Site, trained: Site, before: Iterable[Use], compiles: Collection[Use]) -> bool:
        """Whether a statement stands between the compile() for a training and the first one after that compile()."""
        unit, module = set_.unit, set_.frame.module
        order = module.order
        if order.get(trained.unit, -1) <= order[unit] or module.exclusive(unit, trained.unit):
            return False
        is_compiled, compiled_anew = False, list[Unit]()
        for use in before:
            site = use.site.lifted(trained.frame)
            if site is not None and site.unit is unit and use.method == "compile" and _compiles_after(use, changed):
                return False
            if site is None or order.get(site.unit, -1) < order[unit]:
                if site is not None and module.exclusive(site.unit, unit):
                    continue
                if use.method == "compile":
                    is_compiled = use in compiles
                elif site is None or module.one_runs([site.unit], unit):
                    is_compiled = False  # Keras 3 asks no more, once it has made the function that trains.
            elif use.method == "compile" and order[unit] < order[site.unit] < order[trained.unit]:
                compiled_anew.append(site.unit)
        return is_compiled and not module.one_runs(compiled_anew, unit, trained.unit)

    def _compiles(self, part: Sites) -> list[Use]:
        return [use for use in self._uses if use.method == "compile" and part <= _sites(use.receiver)]

    def _is_in_turns(self, compiled: Use) -> bool:
        """Whether a model is part of another one that is trained too, or the other way round."""
        own = _sites(compiled.receiver)
        trained = (_sites(use.receiver) for use in self._uses if use.method in TRAINING)
        return any(other and (other < own or own < other) for other in trained)


def _compiles_after(use: Use, changed: Site) -> bool:
    """Whether one call of a function changes a model and compiles it then."""
    for here in changed.chain():
        there = use.site.lifted(here.frame)
        if there is not None:
            module = here.frame.module
            return module.order[here.unit] < module.order[there.unit] and module.one_runs([there.unit], here.unit)
    return False


def _is_same(use: Use, other: Use) -> bool:
    """Whether two calls may be of one model; a parallel one is its template."""
    models = models_of(use.receiver)
    if models or models_of(other.receiver):
        return not models.isdisjoint(models_of(other.receiver))
    return _sites(use.receiver) == _sites(other.receiver)


def _sites(value: Value) -> Sites:
    """What a model, a parallel one or a layer is made of, the wrap left out."""
    models = models_of(value)
    return all_opaque_sites(models) if models else opaque_sites(value)
