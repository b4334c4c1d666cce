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
from tfmigrate.understand.blocks import suites_of
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.syntax import attribute_of, last_attribute
from tfmigrate.understand.values import function_of

_ADDS = (
    "under a strategy a loss added by a layer counts once; with multi_gpu_model on N GPUs it counted N or N + 1 times"
)
_OUTSIDE = (
    "outside a layer's call(), Keras 3 raises ValueError for such a loss, or forgets it: move it into a layer of "
    "your own"
)
_LEFT_OUT = (
    "standalone Keras before 2.3 ignored a loss added to a layer after multi_gpu_model: now it counts, as the code says"
)
_BEFORE_2_3 = (2, 3)
_SUMS = (
    "standalone Keras summed activity_regularizer over the batch, tf.keras divides it by the number of samples: to "
    "keep its weight, multiply its strength by the batch size"
)


def check(context: Context) -> Iterator[CallChange]:
    """`add_loss()` and `activity_regularizer=`: reported, because the code does not say which strength is meant."""
    for call in context.facts.module.calls:
        known = context.facts.called(call)
        if last_attribute(call.func) == "add_loss" and call.args and not known:
            message = _added(call, context)
            if message:
                yield CallChange(codes.EXTRA_LOSSES, call, message, action="warn")
        elif names.canonical(known).startswith("keras.layers."):
            penalised = _penalised_activity(call, known)
            standalone = names.flavour(known) == "keras"
            if penalised is not None and (standalone or context.migration.spreads):
                yield CallChange(codes.EXTRA_LOSSES, penalised, _SUMS if standalone else _ADDS, action="warn")


def _added(call: cst.Call, context: Context) -> str:
    """What there is to say of a call of add_loss(), if anything."""
    facts = context.facts
    penalty = penalty_of(call, facts)
    if penalty is None:
        outside = attribute_of("self", call.func) is None
        return "; ".join([*([_ADDS] if context.migration.spreads else []), *([_OUTSIDE] if outside else [])])
    version = context.settings.written_for("keras")
    standalone = names.flavour(facts.called(penalty.regularizer)) == "keras"
    left_out = standalone and (version is None or version < _BEFORE_2_3)
    return _LEFT_OUT if left_out and _may_follow_a_wrap(call, facts, context.migration) else ""


def _penalised_activity(call: cst.Call, layer: str) -> cst.CSTNode | None:
    """What says, in a call that makes a layer, that its outputs are penalised: the call itself, or an argument."""
    if names.canonical(layer) == "keras.layers.ActivityRegularization":
        return call
    regularizer = keywords(call).get("activity_regularizer")
    return regularizer if regularizer is not None and not is_none(regularizer.value) else None


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
        unit = module.unit_round(node)
        if unit is None or unit in seen or any(suites_of(unit)):
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
