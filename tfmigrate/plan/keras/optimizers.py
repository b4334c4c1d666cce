"""Optimizers: arguments that are called otherwise or gone, and old values that must be written out."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence, Set
from dataclasses import replace

import libcst as cst

from tfmigrate import old_keras
from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import Revision, has_stars, is_none, keywords, text_of, unchanged, with_code
from tfmigrate.plan.edits import Argument, Arguments, Remark
from tfmigrate.plan.keras import positions
from tfmigrate.plan.keras.decays import decays_of
from tfmigrate.plan.keras.gradient_clipping import CLIPS, bounds_of
from tfmigrate.plan.keras.old_defaults import (
    NADAM,
    PACKAGE,
    UNDER_ROOT,
    WHY_SQUARED,
    concerns,
    depends_on_version,
    story,
)
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.plan.names.tables import Tables
from tfmigrate.settings import Settings
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.program import dotted
from tfmigrate.understand.values import Mapping, Opaque, Parameter, Symbol, Value, in_order, options, unbound
from tfmigrate.written import Code


def check(context: Context) -> Iterator[CallChange]:
    facts, decays = context.facts, context.migration.once(decays_of)
    yield from optimizer_calls(facts, context.settings, context.tables, context.tf, decays.divided | decays.kept)
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
                "compile() is given this optimizer, and what `**` passes to it cannot be read: where that holds `lr`, "
                "rename it to `learning_rate`; where it holds `decay`, take it out and give the rate as an "
                "InverseTimeDecay schedule"
            )
            yield CallChange(codes.RENAMED_ARGUMENTS, call, message, action="warn")
        elif _is_unread(call, facts):
            for old in keywords(call).keys() & tables.of_optimizers.keys():
                message = (
                    f"compile() is given this optimizer, whose class cannot be read: where it is one of Keras, `{old}` "
                    f"is `{tables.of_optimizers[old]}` now"
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
            yield from _passed_by_stars(facts, call, tables)
        elif len(classes) == 1:
            yield from _optimizer_call(facts, call, classes[0], settings, tables, tf, call in divided)
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


def _passed_by_stars(facts: Facts, call: cst.Call, tables: Tables) -> Iterator[CallChange]:
    """`Adam(**settings)`, where the module says `settings["lr"]`: reported, since others may use the dict."""
    renamed = tables.of_optimizers
    spread = [arg.value for arg in call.args if arg.star == "**"]
    keys = {key for node in spread for key in _keys_of(node, facts)}
    for old in sorted(keys & renamed.keys()):
        message = f"`{old}` is `{renamed[old]}` now, and is passed through `**` here: rename it where it is passed"
        yield CallChange(codes.RENAMED_ARGUMENTS, call, message, action="warn")


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
        message = (
            "`decay` is ignored by Keras 3, and an error on Keras 2: give the rate as an InverseTimeDecay schedule"
        )
        yield CallChange(codes.OPTIMIZER_DECAY, call, message, action="warn")


def _optimizer_call(
    facts: Facts, call: cst.Call, real: str, settings: Settings, tables: Tables, tf: str, divided: bool
) -> Iterator[CallChange]:
    """What one optimizer is given now. Each step changes the arguments, and the next sees what the others left."""
    known, flavour = names.canonical(tables.moves.moved(real)), names.flavour(real)
    arguments = list(unchanged(call.args))
    changes = list(_renamed(call, arguments, tables))
    taken = positions.meanings(
        known.rsplit(".", 1)[-1].lower(), flavour, settings.written_for(PACKAGE.get(flavour, "")), arguments, facts
    )
    changes.extend(_moved_places(call, known, flavour, taken, arguments, tables))
    if codes.EPSILON_NONE in tables.wanted:
        changes.extend(_without_epsilon_none(call, arguments))
    present = {argument.keyword for argument in arguments if argument.keyword is not None}.union(*taken)
    if arguments and arguments[0].keyword is None:
        present.add("learning_rate")
    if codes.OPTIMIZER_DECAY in tables.wanted:
        changes.extend(_without_decay(facts, call, known, arguments, tables, tf, divided))
        present = present | {argument.keyword for argument in arguments if argument.keyword is not None}
    under_root = _epsilon_was_under_root(facts, known, flavour, arguments)
    if codes.OPTIMIZER_EPSILON in tables.wanted and not under_root:
        changes.extend(_squared_epsilon(facts, call, known, flavour, arguments))
    if codes.GRADIENT_CLIPPING in tables.wanted:
        changes.extend(_clipping(call, real, arguments, settings))
    without = present | ({"epsilon"} if under_root else set())
    changes.extend(_old_defaults(call, known, flavour, without, arguments, tables, settings))
    if known in ("keras.optimizers.Nadam", "keras.optimizers.nadam") and codes.NADAM_MOMENTUM in tables.wanted:
        changes.extend(_of_nadam(call, present, arguments))
    if any(default.of == known and default.argument not in present for default in tables.defaults):
        changes.extend(_unknown_version(call, known, flavour, present, tables, settings))
    if changes:
        edit = Arguments(call, tuple(arguments))
        yield from (change for change in changes if change.action == "warn")
        done = [change for change in changes if change.action != "warn"]
        if done:
            yield replace(done[0], edit=edit)
            yield from done[1:]


def _renamed(call: cst.Call, arguments: list[Argument], tables: Tables) -> Iterator[CallChange]:
    for position, argument in enumerate(arguments):
        new = tables.of_optimizers.get(argument.keyword or "")
        if new is not None:
            arguments[position] = replace(argument, keyword=new)
            yield CallChange(codes.RENAMED_ARGUMENTS, call, f"the argument `{argument.keyword}` is `{new}` now")


def _without_epsilon_none(call: cst.Call, arguments: list[Argument]) -> Iterator[CallChange]:
    for argument in list(arguments):
        if argument.keyword == "epsilon" and not isinstance(argument.value, str) and is_none(argument.value):
            arguments.remove(argument)
            message = "`epsilon=None` meant Keras's epsilon, 1e-7, which is the default now; Keras 3 fails on None"
            yield CallChange(codes.EPSILON_NONE, call, message)


def _old_defaults(
    call: cst.Call,
    known: str,
    flavour: str,
    present: Set[str],
    arguments: list[Argument],
    tables: Tables,
    settings: Settings,
) -> Iterator[CallChange]:
    """Defaults that are others today are written out as they were."""
    for default in tables.defaults:
        missing = default.argument not in present and not (default.argument in _RATES and present & _RATES)
        if default.of == known and missing and concerns(default, flavour, settings):
            arguments.append(Argument(repr(default.old), default.argument))
            why = (Remark(call, WHY_SQUARED),) if default.argument == "epsilon" else ()
            yield CallChange(tables.codes[default], call, f"{story(default)}: written out", more=why)


def _of_nadam(call: cst.Call, present: Set[str], arguments: list[Argument]) -> Iterator[CallChange]:
    if "schedule_decay" in present:
        arguments[:] = [argument for argument in arguments if argument.keyword != "schedule_decay"]
        yield CallChange(codes.NADAM_MOMENTUM, call, "the argument `schedule_decay` no longer exists")
    yield CallChange(codes.NADAM_MOMENTUM, call, NADAM, action="warn")


_RATES = frozenset({"learning_rate", "lr"})


def _moved_places(
    call: cst.Call,
    known: str,
    flavour: str,
    taken: Sequence[tuple[str, ...]],
    arguments: list[Argument],
    tables: Tables,
) -> Iterator[CallChange]:
    """Positional arguments that have another place today get their names, and so does an epsilon that may change."""
    optimizer = known.rsplit(".", 1)[-1]
    today = old_keras.TODAY.get(optimizer.lower())
    if codes.MOVED_PLACES not in tables.wanted or not taken or today is None:
        return
    if len(taken) > 1:
        place = positions.disputed(taken)[0]
        package, since = PACKAGE[flavour], ".".join(map(str, old_keras.CHANGED[flavour]))
        message = (
            f"the {_ORDINALS[place]} argument of {optimizer} was `{taken[0][place]}` before {package} {since} and is "
            f"`{taken[1][place]}` from there on, and the version this was written for is unknown: pass --from "
            f"{package}==VERSION, or give it by name"
        )
        yield CallChange(codes.MOVED_PLACES, call.args[place], message, action="warn")
        return
    (parameters,) = taken
    moved = next((n for n, name in enumerate(parameters) if today[n : n + 1] != (name,)), len(parameters))
    epsilon = parameters.index("epsilon") if "epsilon" in parameters else len(parameters)
    for place in range(min(moved, epsilon), len(parameters)):
        arguments[place] = replace(arguments[place], keyword=parameters[place])
    if moved < len(parameters):
        now = f"`{today[moved]}` is" if moved < len(today) else "none is"
        message = f"the {_ORDINALS[moved]} argument of {optimizer} was `{parameters[moved]}`, where {now} now"
        yield CallChange(codes.MOVED_PLACES, call, message)


_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


def _clipping(call: cst.Call, real: str, arguments: list[Argument], settings: Settings) -> Iterator[CallChange]:
    """`clipnorm` was the norm of all gradients together, and became that of each one by itself."""
    bounds = bounds_of(call, real, settings)
    for position, argument in enumerate(arguments):
        if argument.keyword == "clipnorm" and "global_clipnorm" in bounds:
            arguments[position] = replace(argument, keyword="global_clipnorm")
            message = "`clipnorm` bounded all gradients together, which `global_clipnorm` does now"
            yield CallChange(codes.GRADIENT_CLIPPING, call, message)
    if len([argument for argument in arguments if argument.keyword in CLIPS]) > 1:
        yield CallChange(codes.GRADIENT_CLIPPING, call, _TWO_CLIPS, action="warn")


_TWO_CLIPS = (
    "Keras 3 raises ValueError where more than one of clipnorm, clipvalue and global_clipnorm is given, even as 0: "
    "keep one; it clips the gradients of each replica, which Keras 2 adds up first"
)


def _unknown_version(
    call: cst.Call, known: str, flavour: str, present: set[str], tables: Tables, settings: Settings
) -> Iterator[CallChange]:
    """A default that depends on the version the code was written for, which nothing tells."""
    for default in tables.defaults:
        if (default.of, default.flavour) != (known, flavour) or default.until is None or default.argument in present:
            continue
        if default.argument == "learning_rate" and "lr" in present:
            continue
        message = depends_on_version(default, flavour, settings)
        if message is not None:
            yield CallChange(tables.codes[default], call, message, action="warn")


def _epsilon_was_under_root(facts: Facts, known: str, flavour: str, arguments: list[Argument]) -> bool:
    """RMSprop of tf.keras with momentum: its kernel had epsilon where it is now (ResourceApplyRMSProp)."""
    if known not in _RMSPROP or flavour != "tf.keras":
        return False
    momentum = next((argument.value for argument in arguments if argument.keyword == "momentum"), None)
    positional = [argument.value for argument in arguments if argument.keyword is None]
    value = positional[2] if len(positional) > 2 else momentum
    if value is None or isinstance(value, str):
        return False
    return not (isinstance(value, cst.Float | cst.Integer) and value.evaluated_value == 0)


_RMSPROP = ("keras.optimizers.RMSprop", "keras.optimizers.rmsprop")
_ADAGRAD = ("keras.optimizers.Adagrad", "keras.optimizers.adagrad")


def _squared_epsilon(
    facts: Facts, call: cst.Call, known: str, flavour: str, arguments: list[Argument]
) -> Iterator[CallChange]:
    """An epsilon written out for RMSprop, or for standalone Keras's Adagrad, whose sum of squares started at 0: under
    the root its square does what it did beside the root."""
    if known not in _RMSPROP and not (known in _ADAGRAD and flavour == "keras"):
        return
    for position, argument in enumerate(arguments):
        if argument.keyword == "epsilon" and not isinstance(argument.value, str):
            text = facts.module.code(argument.value)
            number = isinstance(argument.value, cst.Float)
            square = ("(", argument.value, ") ** 2")
            code = repr(float(f"{float(text) ** 2:.12g}")) if number else square
            same = number and float(text) in (0, 1)
            arguments[position] = argument if same else with_code(argument, code)
            name = known.rsplit(".", 1)[-1]
            name = {"rmsprop": "RMSprop", "adagrad": "Adagrad"}.get(name, name)
            message = f"{name} added epsilon to the square root and adds it under the root now: it takes its square"
            why = Remark(call, f"{text if number else 'epsilon'} squared: {UNDER_ROOT}")
            if not same:
                yield CallChange(codes.OPTIMIZER_EPSILON, call, message, more=(why,))
            if number and float(text) >= _LARGE_EPSILON:
                message = (
                    f"an epsilon of {text} is as large as the roots of many gradients, so its square is only an "
                    f"approximation: losses may differ by a few per cent from those of old runs"
                )
                yield CallChange(codes.OPTIMIZER_EPSILON, call, message, action="warn")


_LARGE_EPSILON = 1e-5
"""With 1e-3 losses were 0.04 to 0.4 off after 190 steps, with 1e-7 1e-5 to 1e-4 (TFM304)."""


def _without_decay(
    facts: Facts, call: cst.Call, known: str, arguments: list[Argument], tables: Tables, tf: str, divided: bool
) -> Iterator[CallChange]:
    """`decay=d` divided the rate by 1 + d * step, as InverseTimeDecay(rate, 1, d) does, or a callback of fit()."""
    decay = next((argument for argument in arguments if argument.keyword == "decay"), None)
    if decay is None or isinstance(decay.value, str):
        return
    arguments.remove(decay)
    value = decay.value
    if isinstance(value, cst.Float | cst.Integer) and value.evaluated_value == 0:
        yield CallChange(codes.OPTIMIZER_DECAY, call, "`decay=0` no longer exists and did nothing")
        return
    if divided:
        message = "Keras 3 ignores `decay`: a callback lowers the rate instead, and other callbacks can still set it"
        yield CallChange(codes.OPTIMIZER_DECAY, call, message)
        return
    rate = next((a for a in arguments if a.keyword in ("learning_rate", "lr")), None)
    if rate is None and arguments and arguments[0].keyword is None:
        rate = arguments[0]
    default = next((d for d in tables.defaults if d.of == known and d.argument == "learning_rate"), None)
    if rate is not None and not isinstance(rate.value, str):
        base: Code = (rate.value,)
    elif default is not None:
        base = (repr(default.old),)
    else:
        arguments.append(decay)
        return
    schedule = (f"{tf}.keras.optimizers.schedules.InverseTimeDecay(", *base, ", 1, ", value, ")")
    message = "`decay` is ignored by Keras 3: written out as the schedule it was"
    if rate is None:
        arguments.append(with_code(Argument("None", "learning_rate", decay.source), schedule))
    else:
        position = arguments.index(rate)
        arguments[position] = with_code(rate, schedule)
    yield CallChange(codes.OPTIMIZER_DECAY, call, message)
