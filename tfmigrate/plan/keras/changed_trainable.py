"""`base.trainable = True` after compile() and before the first training, which the old Keras took no notice of."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import keywords
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.contents import all_opaque_sites, models_of, opaque_sites
from tfmigrate.understand.lifecycle import TRAINING, Use
from tfmigrate.understand.program import Module, Unit, dotted
from tfmigrate.understand.values import Literal, ModelObject, Site, Sites, Value
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

    def first_training(self, node: cst.CSTNode, part: Sites) -> Site | None:
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

    def _trained_after(self, unit: Unit, compiles: Collection[Use]) -> Site | None:
        """The training that begins with what is changed under this statement."""
        function = self._module.function_round(unit)
        for number, use in enumerate(self._uses):
            if use.method in TRAINING and any(_is_same(use, compiled) for compiled in compiles):
                here = next((site for site in use.site.chain() if self._is_of(site, function)), None)
                if here is not None and self._is_between(unit, here, self._before(number), compiles):
                    return here
        return None

    def _is_of(self, site: Site, function: cst.FunctionDef | None) -> bool:
        return site.frame.module is self._module and site.frame.function is function

    def _before(self, number: int) -> list[Use]:
        """What is done before a use with its model: compiled and trained."""
        noted = TRAINING | {"compile"}
        return [use for use in self._uses[:number] if use.method in noted and _is_same(use, self._uses[number])]

    def _is_between(self, unit: Unit, trained: Site, before: Iterable[Use], compiles: Collection[Use]) -> bool:
        """Whether a statement stands between the compile() for a training and the first one after that compile()."""
        module, order = self._module, self._module.order
        if order.get(trained.unit, -1) <= order[unit] or module.exclusive(unit, trained.unit):
            return False
        is_compiled = False
        for use in before:
            site = use.site.lifted(trained.frame)
            if site is None or order.get(site.unit, -1) < order[unit]:
                if site is not None and module.exclusive(site.unit, unit):
                    continue
                if use.method == "compile":
                    is_compiled = use in compiles
                elif site is None or self._surely(site.unit, unit):
                    is_compiled = False  # Keras 3 asks no more, once it has made the function that trains.
            elif use.method == "compile" and order[unit] < order[site.unit] < order[trained.unit]:
                if self._surely(site.unit, unit, trained.unit):
                    return False
        return is_compiled

    def _compiles(self, part: Sites) -> list[Use]:
        return [use for use in self._uses if use.method == "compile" and part <= _sites(use.receiver)]

    def _is_in_turns(self, compiled: Use) -> bool:
        """Whether a model is part of another one that is trained too, or the other way round."""
        own = _sites(compiled.receiver)
        trained = (_sites(use.receiver) for use in self._uses if use.method in TRAINING)
        return any(other and (other < own or own < other) for other in trained)

    def _surely(self, unit: Unit, *given: Unit) -> bool:
        """Whether a unit runs wherever these do: it is under no condition that is not theirs as well."""
        known = {arm for other in given for arm in self._module.arms(other)}
        conditions = {arm for arm in self._module.arms(unit) if isinstance(arm[0], cst.If | cst.Try)}
        return conditions <= known


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
