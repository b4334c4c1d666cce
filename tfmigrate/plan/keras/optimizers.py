"""Calls that make optimizers; what their arguments are called now where the class or the arguments are not known."""

from __future__ import annotations

from collections.abc import Container, Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, has_stars, is_zero, keywords, text_of
from tfmigrate.plan.change.spread import handed
from tfmigrate.plan.keras.decays import decays_of
from tfmigrate.plan.keras.one_optimizer import Optimizer
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.plan.names.tables import Tables
from tfmigrate.settings import Settings
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.ordering import in_order
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import Mapping, Opaque, Parameter, Symbol, Value, options, unbound


def check(context: Context) -> Iterator[CallChange]:
    facts, decays = context.facts, context.migration.once(decays_of)
    yield from optimizer_calls(facts, context.settings, context.tables, context.tf, decays.divided | decays.kept)
    yield from _passed_by_stars(context)
    yield from _unread_arguments(facts, context.tables, context.migration.once(_compiled_with))


def _compiled_with(migration: Migration) -> frozenset[cst.CSTNode | None]:
    """What makes the optimizers that some compile() of the program is given, where no class is known."""
    compiles = (use for use in migration.facts.uses if use.method == "compile")
    arguments = (use.argument(0, "optimizer") for use in compiles)
    optimizers = (option for value in arguments if value is not None for option in options(value))
    return frozenset(option.node for option in optimizers if isinstance(option, Opaque))


def _unread_arguments(facts: Facts, tables: Tables, compiled: Container[cst.CSTNode | None]) -> Iterator[CallChange]:
    """`getattr(optimizers, name)(**params)`, where neither the class nor the mapping can be read, and `kind(lr=0.1)` of
    an unknown kind."""
    for call in facts.module.calls:
        if call not in compiled:
            continue
        if any(arg.star == "**" for arg in call.args) and not _optimizer_classes(facts, call):
            message = (
                "compile() gets this optimizer, and what `**` passes to it cannot be read: if that contains `lr`, "
                "rename it to `learning_rate`; if it contains `decay`, remove it and make the rate an "
                "InverseTimeDecay schedule"
            )
            yield CallChange(codes.RENAMED_ARGUMENTS, call, message, action="warn")
        elif _is_unread(call, facts):
            for old in keywords(call).keys() & tables.of_optimizers.keys():
                message = (
                    f"compile() gets this optimizer, whose class cannot be read: if it is one of Keras, `{old}` is "
                    f"`{tables.of_optimizers[old]}` now"
                )
                yield CallChange(codes.RENAMED_ARGUMENTS, call, message, action="warn")


def _is_unread(call: cst.Call, facts: Facts) -> bool:
    """Whether it is unknown what a call calls, and no rule for optimizers rewrites it."""
    value = facts.values.get(call.func)
    unknown = value is not None and any(map(_is_unknown, options(value)))
    return unknown and not _is_looked_up(call, facts) and not _is_one_at_least(call, facts)


def _is_unknown(value: Value) -> bool:
    return type(value) is Opaque or isinstance(value, Parameter)


def optimizer_calls(
    facts: Facts, settings: Settings, tables: Tables, tf: str, divided: Container[cst.Call]
) -> Iterator[CallChange]:
    """`Adam(lr=...)`, `decay=`, and old default values that must be written out.

    `divided`: the optimizers whose `decay=` a callback does.
    """
    for call in facts.module.calls:
        classes = _optimizer_classes(facts, call)
        if not classes:
            if (_is_looked_up(call, facts) or _is_one_at_least(call, facts)) and not has_stars(call):
                yield from _one_of_several(call, tables)
            continue
        if has_stars(call):
            continue  # See below.
        if len(classes) == 1:
            yield from Optimizer(call, classes[0], facts, settings, tables, tf, call in divided).changes()
        else:
            yield from _one_of_several(call, tables)


def _is_looked_up(call: cst.Call, facts: Facts) -> bool:
    """`getattr(optimizers, name)(...)`"""
    lookup = call.func
    return (
        isinstance(lookup, cst.Call)
        and len(lookup.args) == 2
        and facts.values.get(lookup.func) == unbound("getattr")
        and facts.canonical(lookup.args[0].value) == "keras.optimizers"
    )


def _is_one_at_least(call: cst.Call, facts: Facts) -> bool:
    """`optimizer(lr=...)` of a parameter whose default is a class of optimizers, and which unread code may set."""
    value = facts.values.get(call.func)
    known = [option for option in options(value) if not _is_unknown(option)] if value is not None else []
    return bool(known) and all(isinstance(option, Symbol) and names.is_optimizer(option.name) for option in known)


def _optimizer_classes(facts: Facts, call: cst.Call) -> list[str]:
    """The classes of Keras that a call may make an optimizer of: `Adam(...)`, `OPTIMIZERS[name](...)`."""
    named = facts.symbols.get(call.func)
    value = facts.values.get(call.func)
    symbols = [option.name for option in in_order(value) if isinstance(option, Symbol)] if value is not None else []
    if named is not None and len({names.canonical(name) for name in symbols}) < 2:
        return [named] if names.is_optimizer(named) else []
    surely = value is not None and len(symbols) == len(options(value))
    return symbols if surely and all(map(names.is_optimizer, symbols)) else []


def _passed_by_stars(context: Context) -> Iterator[CallChange]:
    """`Adam(**settings)`, where the module says `settings["lr"]`: reported, where others may use the dict."""
    facts, renamed = context.facts, context.tables.of_optimizers
    calls = [call for call in facts.module.calls if has_stars(call) and _optimizer_classes(facts, call)]
    given = handed(calls, facts, context.scopes)
    done: set[cst.CSTNode] = set()
    for call in calls:
        keys = {key for arg in call.args if arg.star == "**" for key in _keys_of(arg.value, facts)}
        parts = given.get(call, {})
        for old in sorted(keys & renamed.keys()):
            one = parts.get(old)
            if one is None:
                now = f"`{old}` is `{renamed[old]}` now"
                message = f"{now}, and is passed through `**` here: rename it where it is passed"
                yield CallChange(codes.RENAMED_ARGUMENTS, call, message, action="warn")
            elif one.node not in done:
                done.add(one.node)
                message = f"the argument `{old}` is `{renamed[old]}` now"
                yield CallChange(codes.RENAMED_ARGUMENTS, one.node, message, one.renamed(renamed[old]))
        decay = parts.get("decay")
        if "decay" in keys and not (decay and is_zero(decay.value)) and codes.OPTIMIZER_DECAY in context.tables.wanted:
            yield CallChange(codes.OPTIMIZER_DECAY, decay.node if decay else call, _DECAY, action="warn")


_DECAY = "`decay` is ignored by Keras 3, and an error on Keras 2: make the rate an InverseTimeDecay schedule"


def _keys_of(node: cst.BaseExpression, facts: Facts) -> Iterator[str]:
    """The keys that a dict is seen to have: those it was written with, and those that are set by subscript."""
    for option in facts.options(node):
        if isinstance(option, Mapping):
            yield from (key for key in option.keys if key is not None)
    name = dotted(node)
    for target in facts.module.all_of(cst.AssignTarget) if name else ():
        if isinstance(target.target, cst.Subscript):
            index = target.target.slice[0].slice
            if dotted(target.target.value) == name and isinstance(index, cst.Index):
                text = text_of(index.value)
                if text is not None:
                    yield text


def _one_of_several(call: cst.Call, tables: Tables) -> Iterator[CallChange]:
    """What every optimizer's arguments are called now; old defaults differ from one to the next and are not written."""
    renamed = tables.of_optimizers
    present = keywords(call)
    for old, new in renamed.items():
        if old in present and new not in present:
            message = f"the argument `{old}` is `{new}` now"
            yield CallChange(codes.RENAMED_ARGUMENTS, call, message, Revision(call, renamed=((old, new),)))
    if "decay" in present and codes.OPTIMIZER_DECAY in tables.wanted:
        yield CallChange(codes.OPTIMIZER_DECAY, call, _DECAY, action="warn")
