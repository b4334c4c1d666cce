"""`compile(optimizer=tf.train.AdamOptimizer(...))`: old Keras wrapped what Keras 3 does not take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import has_stars, named_arguments, unchanged
from tfmigrate.plan.change.tf_train import OPTIMIZERS, REFUSED_OPTIMIZERS, Optimizer
from tfmigrate.plan.edits import Argument, Arguments, Replace
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.values import Opaque, Value, options

_HOME = "tensorflow.train."
_TOLD = "Keras 3 accepts no tf.train optimizer (ValueError)"
_SAME = frozenset({"learning_rate", "rho", "initial_accumulator_value"})
"""What Keras 2 and 3 have the same defaults of, where tf.train has one."""


def check(context: Context) -> Iterator[CallChange]:
    """Each one that a compile() is given: Keras's own, where that takes the same steps."""
    facts = context.facts
    given, wrapped = context.migration.once(_given), dict(_wrapped(facts))
    inside = frozenset[cst.Call]().union(*wrapped.values())
    changes = {
        call: _change(call, name, context)
        for call in facts.module.calls
        if (call in given or call in inside) and (name := _class_of(facts.called(call))) is not None
    }
    yield from changes.values()
    for wrapper, calls in wrapped.items():
        reads = (settled(read.value, context.scopes) for read in facts.module.all_of(cst.Attribute))
        if wrapper in reads:
            continue  # `wrapper.optimizer`
        if calls and all(call in changes and changes[call].action == "rewrite" for call in calls):
            message = "Keras 3 has no TFOptimizer, and a Keras optimizer needs none"
            yield CallChange(codes.TF_TRAIN_OPTIMIZERS, wrapper, message, Replace(wrapper, (wrapper.args[0].value,)))


def _wrapped(facts: Facts) -> Iterator[tuple[cst.Call, frozenset[cst.Call]]]:
    """Each `TFOptimizer(optimizer)` of standalone Keras, with the calls that make what it is given."""
    for call in facts.module.calls:
        if facts.canonical(call.func) == "keras.optimizers.TFOptimizer" and len(call.args) == 1 and not has_stars(call):
            yield call, frozenset(_calls(facts.options(call.args[0].value)))


def _class_of(symbol: str) -> str | None:
    """The class of tf.train that makes an optimizer, under whichever door."""
    name = names.plain(symbol).removeprefix(_HOME)
    return name if names.plain(symbol).startswith(_HOME) and name.endswith("Optimizer") else None


def _given(migration: Migration) -> frozenset[cst.CSTNode]:
    """The calls whose results some compile() of a model is given."""
    compiles = (use for use in migration.facts.uses if use.method == "compile" and use.is_of_model)
    arguments = (use.argument(0, "optimizer") for use in compiles)
    return frozenset(node for value in arguments if value is not None for node in _calls(options(value)))


def _used_otherwise(migration: Migration) -> frozenset[cst.CSTNode]:
    """Those of which something reads an attribute: a loop of its own that calls minimize(), for example."""
    return frozenset(
        node
        for facts in migration.facts.modules.values()
        for read in facts.module.all_of(cst.Attribute)
        for node in _calls(facts.options(read.value))
    )


def _calls(values: frozenset[Value]) -> Iterator[cst.Call]:
    return (value.node for value in values if isinstance(value, Opaque) and isinstance(value.node, cst.Call))


def _change(call: cst.Call, name: str, context: Context) -> CallChange:
    known = OPTIMIZERS.get(name)
    named = named_arguments(call, known.parameters) if known is not None else None
    if known is None:
        why = REFUSED_OPTIMIZERS.get(name, "pass a Keras optimizer that takes the same steps, if there is one")
    elif named is None or not named.keys() <= set(known.parameters):
        why = f"use tf.keras.optimizers.{known.keras}; these arguments cannot be read"
    elif _follows_steps(named["learning_rate"].value if "learning_rate" in named else None, context):
        why = (
            f"use tf.keras.optimizers.{known.keras} with a schedule from tf.keras.optimizers.schedules, which counts "
            "the steps itself"
        )
    elif call in context.migration.once(_used_otherwise):
        why = f"use tf.keras.optimizers.{known.keras}; something else also reads it"
    else:
        wanted = [key for key in known.defaults if key not in _SAME and key not in named]
        written = "".join(f", whose {key} was {known.defaults[key]}" for key in wanted)
        return CallChange(
            codes.TF_TRAIN_OPTIMIZERS,
            call,
            f"{_TOLD}: tf.keras.optimizers.{known.keras} takes the same steps{written}",
            Arguments(
                call,
                (*_kept(call, known), *(Argument(known.defaults[key], key) for key in wanted)),
                function=f"{context.tf}.keras.optimizers.{known.keras}",
            ),
        )
    return CallChange(codes.TF_TRAIN_OPTIMIZERS, call, f"{_TOLD}: {why}", action="warn", speaks_for=(call.func,))


def _kept(call: cst.Call, known: Optimizer) -> Iterator[Argument]:
    """The arguments by their names in Keras, which has those before `use_locking` in the same places."""
    same = known.parameters.index("use_locking")
    for place, argument in enumerate(unchanged(call.args)):
        name = argument.keyword or known.parameters[place]
        if name not in ("use_locking", "name"):
            keyword = known.renamed.get(name, name) if argument.keyword is not None or place > same else None
            yield replace(argument, keyword=keyword)


def _follows_steps(rate: cst.BaseExpression | None, context: Context) -> bool:
    """Whether a rate is a tensor, which follows a count of steps: `tf.train.exponential_decay(0.1, step, ...)`."""
    made = settled(rate, context.scopes) if rate is not None else None
    if not isinstance(made, cst.Call):
        return False
    symbol = context.facts.called(made)
    return names.plain(symbol).startswith("tensorflow.") or names.canonical(symbol).startswith("keras.")
