"""`base.trainable = True` after compile() and before the first training, which the old Keras took no notice of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import keywords
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.contents import all_opaque_sites, models_of, opaque_sites
from tfmigrate.understand.lifecycle import TRAINING, Use
from tfmigrate.understand.program import Module, Unit, dotted
from tfmigrate.understand.values import Literal, ModelObject, Sites, Value
from tfmigrate.walk import walk

_MESSAGE = (
    "set between compile() and the training at line {line}: the old Keras trained what was trainable at compile(), so "
    "this had no effect; Keras 3 reads it when the training begins. Leave it out to train as before, or call compile() "
    "after it if it is meant to have an effect"
)


def check(context: Context) -> Iterator[CallChange]:
    """Each change for which no compile() follows before the model is first trained. What two models that are trained in
    turns need is the matter of TFM401."""
    facts, reader = context.facts, _Reader(context)
    told: set[cst.CSTNode] = set()
    for node, value, assigned in facts.toggles:
        part = _sites(value)
        if not part or node in told or reader.changes_nothing(node, value, assigned):
            continue
        trained = reader.first_training(node, part)
        if trained is not None:
            told.add(node)
            line = facts.module.position(trained.unit)[0]
            yield CallChange(codes.CHANGED_TRAINABLE, node, _MESSAGE.format(line=line), action="warn")


@dataclass(frozen=True)
class _Here:
    """A use of a model, by the unit of the looked-at function that it runs under."""

    use: Use
    unit: Unit
    order: int


class _Reader:
    def __init__(self, context: Context) -> None:
        self._module = context.facts.module
        self._toggles = [row for facts in context.modules.values() for row in facts.toggles]
        self._uses = context.migration.facts.uses
        calls = (call for module in context.modules for call in module.calls)
        self._set_in_calls = any("trainable" in keywords(call) for call in calls)

    def changes_nothing(self, node: cst.CSTNode, value: Value, assigned: Value) -> bool:
        """Whether what is set was so already: all that the program sets of these models is this value, and it is that
        of the layers of Keras, or of the same model when it was compiled."""
        part = _sites(value)
        loaded = any(model.origin == "loaded" for whole in models_of(value) for model in whole.base_models())
        others = [row for row in self._toggles if row[0] is not node and not part.isdisjoint(_sites(row[1]))]
        if loaded or self._set_in_calls or any(other != assigned for _, _, other in others):
            return False
        compiled = [dict(use.trainable).get(value) for use in self._compiles(part) if isinstance(value, ModelObject)]
        same = bool(compiled) and all(known == assigned for known in compiled)
        return assigned == Literal(True) or (assigned == Literal(False) and same)

    def first_training(self, node: cst.CSTNode, part: Sites) -> _Here | None:
        """The training that begins with this change, of a model that was compiled without it."""
        compiles = [use for use in self._compiles(part) if not self._is_in_turns(use)]
        units = self._places(node) if compiles else ()
        return next((found for unit in units if (found := self._trained_after(unit, compiles)) is not None), None)

    def _places(self, node: cst.CSTNode) -> Iterator[Unit]:
        """The statement that sets it, and the one that calls its function, where there is one such call alone."""
        unit = _unit_of(node, self._module)
        yield unit
        function = self._module.function_round(unit)
        name = function.name.value if function is not None else None
        calls = [call for call in self._module.calls if dotted(call.func).rpartition(".")[2] == name]
        if len(calls) == 1:
            yield _unit_of(calls[0], self._module)

    def _trained_after(self, unit: Unit, compiles: Iterable[Use]) -> _Here | None:
        """The training that begins with what is changed under this statement."""
        for compiled in _latest(self._here(compiles, unit), self._module.order[unit]):
            if self._module.exclusive(compiled.unit, unit):
                continue
            same = [use for use in self._uses if _is_same(use, compiled.use)]
            trainings = [*self._here([use for use in same if use.method in TRAINING], unit)]
            before = (use for use in trainings if compiled.order < use.order < self._module.order[unit])
            if any(self._surely(use.unit, unit) for use in before):
                continue  # Keras 3 asks no more, once it has made the function that trains.
            for training in trainings:
                later = self._here([use for use in same if use.method == "compile"], unit)
                between = (use for use in later if self._module.order[unit] < use.order < training.order)
                if training.order > self._module.order[unit] and not self._module.exclusive(unit, training.unit):
                    if not any(self._surely(use.unit, unit, training.unit) for use in between):
                        return training
        return None

    def _compiles(self, part: Sites) -> list[Use]:
        return [use for use in self._uses if use.method == "compile" and part <= _sites(use.receiver)]

    def _is_in_turns(self, compiled: Use) -> bool:
        """Whether a model is part of another one that is trained too, or the other way round."""
        own = _sites(compiled.receiver)
        trained = (_sites(use.receiver) for use in self._uses if use.method in TRAINING)
        return any(other and (other < own or own < other) for other in trained)

    def _here(self, uses: Iterable[Use], unit: Unit) -> Iterator[_Here]:
        """Those that run under the function of a unit, in a function it calls or by itself."""
        function = self._module.function_round(unit)
        for use in uses:
            for site in use.site.chain():
                if site.frame.module is self._module and site.frame.function is function:
                    yield _Here(use, site.unit, self._module.order.get(site.unit, -1))
                    break

    def _surely(self, unit: Unit, *given: Unit) -> bool:
        """Whether a unit runs wherever these do: it is under no condition that is not theirs as well."""
        known = {arm for other in given for arm in self._module.arms(other)}
        conditions = {arm for arm in self._module.arms(unit) if isinstance(arm[0], cst.If | cst.Try)}
        return conditions <= known


def _latest(compiles: Iterable[_Here], order: int) -> list[_Here]:
    """The last compile() of each model above a place."""
    latest: list[_Here] = []
    for here in sorted(compiles, key=lambda here: -here.order):
        if 0 <= here.order < order and not any(_is_same(here.use, other.use) for other in latest):
            latest.append(here)
    return latest


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


def _unit_of(node: cst.CSTNode, module: Module) -> Unit:
    """The innermost statement that a node stands in."""
    round_ = (unit for unit in module.order if any(part is node for part in walk(unit)))
    return max(round_, key=lambda unit: module.order[unit])  # type: ignore[return-value]
