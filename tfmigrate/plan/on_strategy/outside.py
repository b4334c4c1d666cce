"""Programs already on a strategy: what stands outside the scope that its model lives in.

Measured on TensorFlow 2.9 (Keras 2) and 2.21 (Keras 2 and 3), two replicas: a model, or a part of one that holds
weights, built outside the scope it is compiled or trained in fails on all of them; an optimizer or a compile() outside
fails on Keras 3; a metric object outside fails on Keras 2. Inputs, layers not yet called, losses and schedules may
stand anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import named_arguments
from tfmigrate.plan.on_strategy.scoping import SYNCHRONOUS, Scoping, Strategies
from tfmigrate.understand import names
from tfmigrate.understand.blocks import Unit
from tfmigrate.understand.lifecycle import TRAINING, ProgramFacts, Use
from tfmigrate.understand.values import Literal, Made, ModelObject, Site, StrategyObject, Value, options
from tfmigrate.walk import calls_in

_OPTIMIZES = TRAINING | {"evaluate"}
_WEIGHTLESS = frozenset(
    {
        "Activation", "ActivityRegularization", "Add", "Average", "AveragePooling1D", "AveragePooling2D",
        "AveragePooling3D", "Concatenate", "Cropping1D", "Cropping2D", "Cropping3D", "Dot", "Flatten",
        "GlobalAveragePooling1D", "GlobalAveragePooling2D", "GlobalAveragePooling3D", "GlobalMaxPooling1D",
        "GlobalMaxPooling2D", "GlobalMaxPooling3D", "Input", "InputLayer", "LeakyReLU", "Masking", "MaxPooling1D",
        "MaxPooling2D", "MaxPooling3D", "Maximum", "Minimum", "Multiply", "Permute", "ReLU", "RepeatVector",
        "Rescaling", "Reshape", "Softmax", "Subtract", "UpSampling1D", "UpSampling2D", "UpSampling3D", "ZeroPadding1D",
        "ZeroPadding2D", "ZeroPadding3D",
    }
)  # fmt: skip
"""Layers without variables, which may be called anywhere."""


@dataclass(frozen=True)
class Outside:
    """Things that belong in the scope of one of `strategies` and stand outside it."""

    code: str
    message: str
    site: Site
    """Where it is reported."""
    sites: frozenset[Site]
    """What must move into the scope."""
    strategies: Strategies
    use: Use
    """The call that needs them there."""
    meant: bool = False
    """Whether it may be intended: then it is reported, and left."""


def things_outside(facts: ProgramFacts, apart: Iterable[ModelObject]) -> Iterator[Outside]:
    """Everything outside its scope, in program order. `apart`: models that are not asked about."""
    if any(strategy.name in SYNCHRONOUS for strategy in facts.strategies):
        finder = _Finder(facts, frozenset(apart))
        for use in facts.uses:
            yield from finder.of(use)


class _Finder:
    def __init__(self, facts: ProgramFacts, apart: frozenset[ModelObject]) -> None:
        self._facts = facts
        self._apart = apart
        self._scoping = Scoping(facts)
        self._number = {model: number for number, model in enumerate(facts.models)}
        self._said: set[tuple[str, object]] = set()
        self._trained: set[StrategyObject] = set()
        """Strategies under which the program trained so far."""

    def of(self, use: Use) -> Iterator[Outside]:
        models = sorted(use.models, key=lambda model: self._number[model])
        if not models:
            # A library built the model; where its optimizer is made is known nevertheless.
            here = self._scoping.inside(use.site) if use.method == "compile" else frozenset()
            if here:
                yield from self._parts_outside(use, here)
            return
        if any(model in self._apart for model in models):
            return
        if use.method == "compile":
            yield from self._compile(use, models)
        elif use.method in TRAINING:
            yield from self._training(use, models)

    def _compile(self, use: Use, models: list[ModelObject]) -> Iterator[Outside]:
        here = self._scoping.inside(use.site)
        built = {model: self._inside(model) for model in models}
        strategies = here or frozenset().union(*built.values())
        if not strategies:
            return
        if here:
            yield from self._models(use, models, here, f"compiled in the scope ({use.place(use.site.frame.module)})")
        if not here and self._scoping.outside(use.site, strategies):
            for model in models:
                if built[model]:
                    yield from self._models(use, [model], strategies, "partly built in the scope")
        yield from self._compiled_outside(use, strategies)

    def _compiled_outside(self, use: Use, strategies: Strategies) -> Iterator[Outside]:
        """A compile(), its optimizer and its metric objects, for a model of the scope."""
        if self._is_replaced(use):
            return
        if self._scoping.outside(use.site, strategies):
            metrics = any(site == use.site for site in self._made_at(use, "metric"))
            if metrics or not (_needs_no_slots(use) or self._brings_its_optimizer(use)):
                message = (
                    "compile() is called outside the scope of its model: Keras 3 then mixes two strategies, and fails"
                    if not metrics
                    else "compile() creates metrics outside the scope of its model: Keras 2 fails"
                )
                sites = frozenset((use.site,))
                yield from self._once(Outside(codes.COMPILE_OUTSIDE_SCOPE, message, use.site, sites, strategies, use))
        yield from self._parts_outside(use, strategies)

    def _parts_outside(self, use: Use, strategies: Strategies) -> Iterator[Outside]:
        for kind, who in (("optimizer", "the model it trains: Keras 3"), ("metric", "the model it measures: Keras 2")):
            for site in self._made_at(use, kind):
                slots = kind == "metric" or not _needs_no_slots(use)
                if site != use.site and slots and self._scoping.outside(site, strategies):
                    message = f"this {kind} is created outside the scope of {who} fails"
                    sites = frozenset((site,))
                    yield from self._once(Outside(codes.COMPILE_OUTSIDE_SCOPE, message, site, sites, strategies, use))

    def _brings_its_optimizer(self, use: Use) -> bool:
        """Whether the optimizer was made in a scope: then Keras 3 accepts a compile() outside it."""
        optimizer = use.argument(0, "optimizer")
        return optimizer is not None and all(
            isinstance(option, Made) and option.kind == "optimizer" and all(map(self._scoping.inside, option.sites))
            for option in options(optimizer)
        )

    def _is_replaced(self, use: Use) -> bool:
        """Whether the same models are compiled again further down: the first compile() then trained nothing."""
        ours = [other for other in self._facts.uses if other.models & use.models]
        later = ours[ours.index(use) + 1 :]
        again = next((other for other in later if other.method == "compile" or other.method in _OPTIMIZES), None)
        return again is not None and again.method == "compile" and again.models == use.models

    def _made_at(self, use: Use, kind: str) -> list[Site]:
        """Where the optimizer, or the metric objects, of a compile() were made."""
        return sorted(
            (
                site
                for site in use.parts
                if any(isinstance(value, Made) and value.kind == kind for value in self._keras_calls(site))
            ),
            key=order_of,
        )

    def _models(self, use: Use, models: list[ModelObject], strategies: Strategies, evidence: str) -> Iterator[Outside]:
        """The models of a call, where each of them has a part with variables outside the scope; else nothing."""
        parts_outside = [(model, self._outside(model, strategies)) for model in models]
        if not all(sites for _, sites in parts_outside):
            return
        for model, sites in parts_outside:
            first = min(sites, key=order_of)
            loaded = model.origin == "loaded" and first == model.site
            code = codes.LOADED_OUTSIDE_SCOPE if loaded else codes.MODEL_OUTSIDE_SCOPE
            what = "this model is loaded" if loaded else "this model, or a part of it, is built"
            message = f"{what} outside the scope and {evidence}: its variables belong to no replica, and training fails"
            yield from self._once(Outside(code, message, first, self._all_outside(model, strategies), strategies, use))

    def _training(self, use: Use, models: list[ModelObject]) -> Iterator[Outside]:
        """fit() in the scope of a model that is built outside; fit() of a model that is loaded and trained outside."""
        here = self._scoping.inside(use.site)
        if any(self._inside(model) for model in models):
            self._trained.update(*(self._inside(model) for model in models))
        elif here:
            yield from self._models(use, models, here, f"trained in it ({use.place(use.site.frame.module)})")
            for other in self._facts.uses:
                if other.method == "compile" and other.models & set(models):
                    yield from self._compiled_outside(other, here)
        elif all(model.origin == "loaded" for model in models) and self._trained:
            alone = all(self._scoping.outside(site, self._trained) for site in (models[0].site, use.site))
            if alone and not any(
                other.method == "compile" and other.models & set(models) for other in self._facts.uses
            ):
                trained = use.place(use.site.frame.module)
                message = (
                    f"this model is loaded outside the scope and trained ({trained}) on one device, while the "
                    "program's other training runs under the strategy: load it in the scope"
                )
                sites = frozenset((models[0].site,))
                strategies = frozenset(self._trained)
                yield from self._once(
                    Outside(codes.LOADED_OUTSIDE_SCOPE, message, models[0].site, sites, strategies, use, meant=True)
                )

    def _once(self, outside: Outside) -> Iterator[Outside]:
        key = outside.code, outside.site.unit
        if key not in self._said:
            self._said.add(key)
            yield outside

    # ---- where the parts of a model stand ----

    def _inside(self, model: ModelObject) -> Strategies:
        """The strategies in whose scope a part of a model with weights was built."""
        sites = (site for site in sites_of(model) if self._makes_variables(site))
        return frozenset().union(*(self._scoping.inside(site) for site in sites))

    def _outside(self, model: ModelObject, strategies: Strategies) -> set[Site]:
        """Where parts of a model with variables are made outside the scope."""
        return {s for s in sites_of(model) if self._makes_variables(s) and self._scoping.outside(s, strategies)}

    def _all_outside(self, model: ModelObject, strategies: Strategies) -> frozenset[Site]:
        """The same of all its parts, those without variables too: they move into the scope together."""
        return frozenset(site for site in sites_of(model) if self._scoping.outside(site, strategies))

    def _makes_variables(self, site: Site) -> bool:
        """Whether variables come into being at a place: a layer is called, a model constructed, cloned or loaded."""
        facts = self._facts.modules[site.frame.module]
        for call in _calls_of(site.unit):
            if any(isinstance(option, ModelObject) for option in facts.options(call)):
                return True
            for option in facts.options(call.func):
                layer = isinstance(option, Made) and option.kind == "layer"
                if isinstance(option, ModelObject) or (layer and not _is_weightless(option)):
                    return True
        return False

    def _keras_calls(self, site: Site) -> Iterator[Value]:
        facts = self._facts.modules[site.frame.module]
        for call in _calls_of(site.unit):
            yield from facts.options(call)


def _is_weightless(layer: Value) -> bool:
    return isinstance(layer, Made) and names.canonical(layer.name).rsplit(".", 1)[-1] in _WEIGHTLESS


def _needs_no_slots(use: Use) -> bool:
    """Whether the optimizer is plain SGD, which keeps nothing for each variable and so mixes no strategies."""
    optimizer = use.argument(0, "optimizer")
    return optimizer is not None and all(map(is_plain_sgd, options(optimizer)))


def is_plain_sgd(optimizer: Value) -> bool:
    if isinstance(optimizer, Literal):
        return isinstance(optimizer.value, str) and optimizer.value.lower() == "sgd"
    if not isinstance(optimizer, Made) or optimizer.config is None or not optimizer.name.endswith(".SGD"):
        return False
    named = named_arguments(optimizer.config, ("learning_rate", "momentum"))
    return named is not None and not {"momentum", "nesterov", "use_ema"} & named.keys()


def _calls_of(unit: Unit) -> list[cst.Call]:
    if not isinstance(unit, cst.SimpleStatementLine | cst.SimpleStatementSuite):
        return []
    return calls_in(unit)


def sites_of(model: ModelObject) -> frozenset[Site]:
    return frozenset().union(*(base.sites for base in model.base_models()))


def order_of(site: Site) -> tuple[str, int]:
    module = site.frame.module
    return module.path, module.order.get(site.unit, 0)
