"""What layers add to the loss by themselves, which multi_gpu_model counted more than once, or not at all."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import is_none, keywords
from tfmigrate.plan.keras.weight_penalty import penalty_of
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.program import Module, attribute_of, suites_of
from tfmigrate.understand.values import function_of
from tfmigrate.walk import walk

_ADDS = (
    "multi_gpu_model counted a loss that a layer adds once for each replica (tf.keras 2.x), or once more (TensorFlow "
    "1.15, and add_loss() of standalone Keras): under a strategy it counts once, so with N GPUs it weighs 1 / N or "
    "1 / (N + 1) of what it did"
)
_OUTSIDE = (
    "outside of a layer's call(), Keras 3 raises ValueError for a tensor of the model, as it does for what is "
    "computed from one there, and forgets any other value: move it into a layer of your own, or train on Keras 2"
)
_LEFT_OUT = (
    "multi_gpu_model of standalone Keras before 2.3 left out of the loss what was added to a layer after the model was "
    "wrapped: it counts now, as the code says, so a program that was trained with such a Keras trains differently"
)
_BEFORE_2_3 = (2, 3)
_SUMS = (
    "standalone Keras took activity_regularizer as the sum over the batch, tf.keras divides it by the number of "
    "samples: to keep its weight, multiply its strength by the batch size"
)


def check(context: Context) -> Iterator[CallChange]:
    """`add_loss()` and `activity_regularizer=`: reported, because the code does not say which strength is meant."""
    facts = context.facts
    spreads = context.migration.spreads
    version = context.settings.written_for("keras")
    for call in facts.module.calls:
        known = facts.symbols.get(call.func, "")
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "add_loss" and call.args and not known:
            penalty = penalty_of(call, facts)
            if penalty is None:
                outside = attribute_of("self", call.func) is None
                parts = [*([_ADDS] if spreads else []), *([_OUTSIDE] if outside else [])]
                if parts:
                    yield CallChange(codes.EXTRA_LOSSES, call, "; ".join(parts), action="warn")
            elif names.flavour(facts.symbols.get(penalty.regularizer.func, "")) == "keras":
                if (version is None or version < _BEFORE_2_3) and _may_follow_a_wrap(call, facts, context.migration):
                    yield CallChange(codes.EXTRA_LOSSES, call, _LEFT_OUT, action="warn")
        if not names.canonical(known).startswith("keras.layers."):
            continue
        regularizer = keywords(call).get("activity_regularizer")
        whole = names.canonical(known) == "keras.layers.ActivityRegularization"
        if whole or (regularizer is not None and not is_none(regularizer.value)):
            message = _SUMS if names.flavour(known) == "keras" else _ADDS
            if message == _ADDS and not spreads:
                continue
            yield CallChange(codes.EXTRA_LOSSES, call if whole else regularizer or call, message, action="warn")


def _may_follow_a_wrap(call: cst.Call, facts: Facts, migration: Migration) -> bool:
    """Whether a call may run after one of multi_gpu_model, itself or the function that it stands in."""
    if attribute_of("self", call.func) is not None:
        return False  # A layer does so while it is built, and the template with it.
    places = dict(_places_of(call, facts, migration))
    met = False
    for wrap in migration.facts.wraps:
        for site in wrap.site.chain():
            module = site.frame.module
            round_ = site.frame.function if isinstance(site.frame.function, cst.FunctionDef) else None
            for unit, own in places.items():
                if own is module and module.function_round(unit) is round_ and site.unit in module.order:
                    met = True
                    if module.order[unit] > module.order[site.unit]:
                        return True
    return bool(migration.facts.wraps) and not met


def _places_of(call: cst.Call, facts: Facts, migration: Migration) -> Iterator[tuple[cst.CSTNode, Module]]:
    """The statement that a call stands in, those that call its function, and so on outwards, each with its module."""
    pending = [(call, facts.module)]
    seen: set[cst.CSTNode] = set()
    while pending:
        node, module = pending.pop()
        unit = next((unit for unit in module.places if not any(suites_of(unit)) and node in walk(unit)), None)
        if unit is None or unit in seen:
            continue
        seen.add(unit)
        yield unit, module
        function = module.function_round(unit)
        for other, known in migration.facts.modules.items() if function is not None else ():
            for caller in other.calls:
                if any(
                    called is not None and called.node is function
                    for called in map(function_of, known.options(caller.func))
                ):
                    pending.append((caller, other))
