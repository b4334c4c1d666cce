"""Which calls train with an optimizer, and what sets its rate meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from tfmigrate.plan.change.calls import FIT, FIT_GENERATOR, has_stars
from tfmigrate.plan.keras.rates import SETTERS, rates_set
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import TRAINING, Facts, ProgramFacts, Use
from tfmigrate.understand.values import Instance, Items, Literal, ModelObject, Opaque, Site, Value, options

WITH_CALLBACKS: Mapping[str, tuple[str, ...]] = {"fit": FIT, "fit_generator": FIT_GENERATOR}
"""The methods that take callbacks, and their parameters in order."""
_PREDICTING = frozenset(
    {"predict", "predict_generator", "predict_on_batch", "evaluate", "evaluate_generator", "test_on_batch"}
)
"""The methods that ask a model, and change nothing in it."""


class Training:
    """Which calls train with an optimizer, and what sets its rate."""

    def __init__(self, facts: ProgramFacts) -> None:
        self._facts = facts
        self._compiling = [use for use in facts.uses if use.method == "compile"]
        self._compiles: dict[cst.CSTNode, list[tuple[Use, Site]]] = {}
        for use in self._compiling:
            for site, node in use.optimizers:
                if node is not None:
                    self._compiles.setdefault(node, []).append((use, site))
        self._set = [(known, *setting) for known in facts.modules.values() for setting in rates_set(known)]

    def made(self, call: cst.Call) -> frozenset[Site]:
        """Where an optimizer is made, once for each activation of the function round it."""
        return frozenset(site for _, site in self._compiles.get(call, ()))

    def _models(self, call: cst.Call) -> set[ModelObject]:
        """The models that are compiled with an optimizer."""
        return {model for use, _ in self._compiles.get(call, ()) for model in use.models}

    def uses(self, call: cst.Call) -> list[Use]:
        """The calls that train the models of an optimizer."""
        models = self._models(call)
        uses = (use for use in self._facts.uses if use.method in TRAINING and use.models & models)
        return [use for use in uses if not (last := self._last_compile(use)) or call in _optimizers(last)]

    def shared(self, call: cst.Call) -> bool:
        """Whether an optimizer is that of one of several models, each of which gets its own.

        A compile() of one model or another, which a condition chooses, is of one.
        """
        uses = [use for use, _ in self._compiles.get(call, ())]
        if any(len(use.models) > 1 and _in_loop(use) for use in uses):
            return True
        return len({use.models for use in uses}) > 1

    def others(self, call: cst.Call) -> bool:
        """Whether what trains with an optimizer may train with another one too, or one that is unknown."""
        unsure = [
            use for use in self.uses(call) if not (last := self._last_compile(use)) or _optimizers(last) != {call}
        ]
        models = {model for use in unsure for model in use.models}
        return any(_optimizers(use) != {call} for use in self._compiling if use.models & models)

    def _last_compile(self, use: Use) -> Use | None:
        """The compile() that is surely the last before a training; None where that may be another one each time."""
        frame, here = use.site.frame, use.site.unit
        module, order = frame.module, frame.module.order
        compiles = [other for other in self._compiling if other.models & use.models]
        places = [(site.unit, other) for other in compiles if (site := other.site.lifted(frame)) is not None]
        earlier = [(unit, other) for unit, other in places if order[unit] < order[here]]
        if not earlier or len(places) < len(compiles):
            return None
        unit, last = max(earlier, key=lambda place: order[place[0]])
        round_last, round_use = {*module.ancestors(unit)}, {*module.ancestors(here)}
        if last.site.frame is not frame or not round_last <= round_use or module.exclusive(unit, here):
            return None
        # Where a loop does not hold the last one, one further down in it runs before the next training.
        loops = {owner for owner in round_use - round_last if isinstance(owner, cst.For | cst.While)}
        return None if any(not loops.isdisjoint(module.ancestors(other)) for other, _ in places) else last

    def sets_rate_of(self, call: cst.Call) -> str | None:
        """What surely sets the rate of an optimizer, in words."""
        for known, node, what in self._set:
            return f"{what} at {self._place(known, node)} sets it"
        for use in self.uses(call):
            for value in self._callbacks(use):
                title = self._setter(value)
                if title is not None:
                    return f"{title} of the {use.method}() at {self._place(self._home(use), use.call)} sets it"
        return None

    def may_set_rate_of(self, call: cst.Call) -> str | None:
        """What may set it, in words: unknown callbacks, or unknown training."""
        uses = self.uses(call)
        if not uses:
            unseen = "no fit() of its model was found, so its callbacks are unknown and may set the rate"
            return None if self._only_predicts(call) else unseen
        for use in uses:
            for value in self._callbacks(use):
                if not self._is_harmless(value):
                    place = self._place(self._home(use), use.call)
                    return f"the {use.method}() at {place} gets unknown callbacks, which may set it"
        return None

    def sets_or_may_set_rate_of(self, call: cst.Call) -> str | None:
        return self.sets_rate_of(call) or self.may_set_rate_of(call)

    def _only_predicts(self, call: cst.Call) -> bool:
        """Whether the program predicts or evaluates with the models of an optimizer, and trains nothing."""
        models = self._models(call)
        asked = any(use.method in _PREDICTING and use.models & models for use in self._facts.uses)
        return asked and not any(use.method in TRAINING for use in self._facts.uses)

    def _home(self, use: Use) -> Facts:
        return self._facts.modules[use.site.frame.module]

    @staticmethod
    def _place(known: Facts, node: cst.CSTNode) -> str:
        return known.module.place(node)

    def _callbacks(self, use: Use) -> Iterator[Value]:
        """All that a training call is given for its callbacks, each on its own."""
        if use.method not in WITH_CALLBACKS:
            return
        callbacks = use.argument(WITH_CALLBACKS[use.method].index("callbacks"), "callbacks")
        if callbacks is None and has_stars(use.call):
            yield Opaque("callbacks")
        for option in options(callbacks) if callbacks is not None else ():
            if isinstance(option, Items):
                for item in option.values:
                    yield from options(item)
            elif option != Literal(None):
                yield option

    def _names(self, value: Value) -> list[str]:
        """The classes of libraries that an object is of, by their qualified names."""
        if isinstance(value, Instance):
            return [names.canonical(base) for base in value.cls.outside_bases()]
        if isinstance(value, Opaque) and isinstance(value.node, cst.Call):
            symbols = (known.symbols.get(value.node.func) for known in self._facts.modules.values())
            return [names.canonical(name) for name in symbols if name is not None]
        return []

    def _setter(self, value: Value) -> str | None:
        return next((name.rsplit(".", 1)[-1] for name in self._names(value) if name in SETTERS), None)

    def _is_harmless(self, value: Value) -> bool:
        known = self._names(value)
        return bool(known) and all(name.startswith("keras.callbacks.") for name in known)


def _optimizers(compiled: Use) -> set[cst.CSTNode | None]:
    """What makes the optimizers that a compile() may be given; None for one that is unknown."""
    return {node for _, node in compiled.optimizers}


def _in_loop(use: Use) -> bool:
    return any(isinstance(owner, cst.For | cst.While) for owner in use.site.frame.module.ancestors(use.site.unit))
