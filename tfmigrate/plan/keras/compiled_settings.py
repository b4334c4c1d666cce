"""`compile(metrics=model.metrics)`: settings that are read back from a model which was compiled before."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import has_stars, named_arguments
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.methods import COMPILE
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand.carrier import Carrier
from tfmigrate.understand.contents import models_of
from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.models_named import may_be_model
from tfmigrate.understand.purity import is_pure
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import ModelObject, Parallel, Value, options
from tfmigrate.written import Written

_WHY = {
    "loss_weights": "a model of Keras 3, and of Keras 2 from TensorFlow 2.2 on, does not keep its `loss_weights`",
    "weighted_metrics": "a model of Keras 3 does not keep its `weighted_metrics`",
    "metrics": (
        "`metrics` of a model were the names given to compile(); today they are objects created from them, which a "
        "second compile() rejects (TypeError at the first step)"
    ),
}
_OPTIMIZER = (
    "the optimizer of another model: Keras 3 creates its variables for that model's weights and strategy, and "
    "rejects it here; this model gets its own, with the same settings and its own step count"
)
_PARAMETERS = (*COMPILE, "weighted_metrics")


def check(context: Context) -> Iterator[CallChange]:
    """What the compile() before was given is written out; an optimizer is made anew."""
    reader = _Reader(context)
    told: set[cst.CSTNode] = set()
    for call, uses in _compiles(context.spread).items():
        for name, argument in (named_arguments(call, _PARAMETERS) or {}).items():
            read = settled(argument.value, context.scopes)
            if name == "optimizer":
                yield from reader.optimizer(uses, argument.value, read)
            elif isinstance(read, cst.Attribute) and read.attr.value == name and reader.is_setting(read):
                told.add(read)
                yield reader.setting(uses, read)
    for node in context.facts.module.all_of(cst.Attribute):
        if node not in told and node.attr.value != "metrics" and reader.is_setting(node):
            told.add(node)
            yield CallChange(codes.COMPILED_SETTINGS, node, f"{_WHY[node.attr.value]}: {_BY_HAND}", action="warn")


_BY_HAND = "write the arguments of the earlier compile() here"


def _compiles(facts: Facts) -> dict[cst.Call, list[Use]]:
    """The calls of compile(), each with all that is known of when it is made."""
    calls: dict[cst.Call, list[Use]] = {}
    for use in facts.uses:
        if use.method == "compile" and use.is_of_model:
            calls.setdefault(use.call, []).append(use)
    return calls


def _assigned(migration: Migration) -> frozenset[str]:
    """The attributes of models that the program sets itself."""
    return frozenset(
        node.target.attr.value
        for facts in migration.facts.modules.values()
        for node in facts.module.all_of(cst.AssignTarget, cst.AnnAssign)
        if isinstance(node.target, cst.Attribute) and may_be_model(node.target.value, facts)
    )


class _Reader:
    def __init__(self, context: Context) -> None:
        self._facts = context.facts
        self._program = context.migration.facts
        self._carrier = Carrier(context.migration.drafts)
        self._assigned = context.migration.once(_assigned)

    def is_setting(self, node: cst.Attribute) -> bool:
        """Whether an expression is such an attribute of a model of Keras."""
        name = node.attr.value
        return name in _WHY and name not in self._assigned and may_be_model(node.value, self._facts)

    def setting(self, uses: list[Use], read: cst.Attribute) -> CallChange:
        """A compile()'s setting that is read off the model: what the compile() before it was given."""
        written = {self._given_before(use, read) for use in uses}
        why, value = _WHY[read.attr.value], next(iter(written), None)
        if len(written) != 1 or value is None:
            return CallChange(codes.COMPILED_SETTINGS, read, f"{why}: {_BY_HAND}", action="warn")
        message = f"{why}: the arguments of the earlier compile() are written out"
        return CallChange(codes.COMPILED_SETTINGS, read, message, Replace(read, value.code))

    def _given_before(self, reading: Use, read: cst.Attribute) -> Written | None:
        """What the model of an attribute was compiled with, as it is written where it is read; None where that is
        unknown, or differs from run to run."""
        models = self._facts.options(read.value)
        found: set[Written | None] = set()
        for model in models:
            earlier = [use for use in self._compiles_of(model) if use.call is not reading.call]
            found.update(self._value(use, read.attr.value, reading) for use in earlier)
            found.update(() if earlier else (None,))
        return next(iter(found)) if len(found) == 1 else None

    def _compiles_of(self, model: Value) -> list[Use]:
        uses = self._program.uses if isinstance(model, ModelObject | Parallel) else ()
        return [use for use in uses if use.method == "compile" and model in options(use.receiver)]

    def _value(self, use: Use, name: str, reading: Use) -> Written | None:
        arguments = named_arguments(use.call, _PARAMETERS)
        if arguments is None or has_stars(use.call):
            return None
        if name not in arguments:
            return Written.of("None")
        value = arguments[name].value
        return self._carrier.at(value, use.site, reading.site.frame, reading.site.unit) if is_pure(value) else None

    def optimizer(self, uses: list[Use], given: cst.BaseExpression, read: cst.BaseExpression) -> Iterator[CallChange]:
        """`compile(optimizer=base.optimizer)`, where `base` is another model than the one that is compiled."""
        if not isinstance(read, cst.Attribute) or read.attr.value != "optimizer":
            return
        text = dotted(given)
        if not text or not may_be_model(read.value, self._facts):
            return
        func = uses[0].call.func
        if isinstance(func, cst.Attribute) and dotted(func.value) == dotted(read.value):
            return
        others = self._facts.options(read.value)
        if any(not models_of(other).isdisjoint(use.models) for other in others for use in uses):
            return
        edit = Replace(given, f"type({text}).from_config({text}.get_config())")
        yield CallChange(codes.COMPILED_SETTINGS, given, _OPTIMIZER, edit)
