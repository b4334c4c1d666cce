"""Removed and renamed interfaces and changed defaults: what the tables of rules/ say, applied to calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.calls import FIT_GENERATOR, named_arguments
from tfmigrate.plan.edits import Argument, Arguments, Replace
from tfmigrate.plan.imports import Moves
from tfmigrate.rules import Default, Rename, Rule
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.values import Parallel, options
from tfmigrate.walk import walk

_GENERATOR = {
    "fit_generator": FIT_GENERATOR,
    "evaluate_generator": (
        "generator", "steps", "callbacks", "max_queue_size", "workers", "use_multiprocessing", "verbose",
    ),
    "predict_generator": (
        "generator", "steps", "callbacks", "max_queue_size", "workers", "use_multiprocessing", "verbose",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class CallChange:
    """A call's edit, and the claim it makes."""

    code: str
    node: cst.CSTNode
    message: str
    edit: Arguments | Replace | None


@dataclass(frozen=True)
class Tables:
    """The tables of all selected rules, by what they are asked for."""

    moves: Moves
    methods: dict[str, str]
    arguments: tuple[Rename, ...]
    defaults: tuple[Default, ...]
    wanted: frozenset[str]

    @classmethod
    def of(cls, rules: Iterable[Rule], wanted: frozenset[str]) -> Tables:
        """Raises nothing; a rule that is not wanted contributes nothing."""
        chosen = [rule for rule in rules if rule.code in wanted]
        renames = [rename for rule in chosen for rename in rule.renames]
        return cls(
            moves=Moves({rename.old: rename.new for rename in renames if rename.kind in ("module", "name")}),
            methods={rename.old: rename.new for rename in renames if rename.kind == "method"},
            arguments=tuple(rename for rename in renames if rename.kind == "argument"),
            defaults=tuple(default for rule in chosen for default in rule.defaults),
            wanted=wanted,
        )


def calls_in(node: cst.CSTNode) -> list[cst.Call]:
    """Every call in a tree, outer ones first."""
    return [found for found in walk(node) if isinstance(found, cst.Call)]


def generator_calls(facts: Facts, tables: Tables) -> Iterator[CallChange]:
    """`fit_generator(gen, ...)` is `fit(gen, ...)`; the arguments of its worker threads are gone in Keras 3."""
    seen: set[cst.CSTNode] = set()
    for use in facts.uses:
        new = tables.methods.get(use.method)
        if new is None or use.call in seen or use.method not in _GENERATOR:
            continue
        seen.add(use.call)
        yield _generator_call(use, new, tables)


def _generator_call(use: Use, new: str, tables: Tables) -> CallChange:
    parameters = _GENERATOR[use.method]
    named = named_arguments(use.call, parameters)
    if named is None:
        edit = Arguments(
            use.call,
            tuple(Argument(arg.value, arg.keyword.value if arg.keyword else None, arg) for arg in use.call.args),
            new,
        )
        return CallChange(codes.GENERATOR_METHODS, use.call, f"{use.method}() is {new}() in TensorFlow 2", edit)
    gone = {rename.old for rename in tables.arguments if rename.of == f"keras.models.Model.{use.method}" and not rename.new}
    arguments = []
    for name, arg in named.items():
        if name == "generator":
            arguments.insert(0, Argument(arg.value, None, arg))
        elif name not in gone:
            arguments.append(Argument(arg.value, name, arg))
    dropped = sorted(gone & named.keys())
    message = f"{use.method}() is {new}() in TensorFlow 2"
    if dropped:
        message += f"; {', '.join(dropped)} no longer exist"
    return CallChange(codes.GENERATOR_METHODS, use.call, message, Arguments(use.call, tuple(arguments), new))


def optimizer_calls(facts: Facts, tables: Tables, tf: str) -> Iterator[CallChange]:
    """`Adam(lr=...)`, `decay=`, and old default values that must be written out."""
    for call in calls_in(facts.module.tree):
        real = facts.symbols.get(call.func)
        if real is None or not names.is_optimizer(real) or any(arg.star for arg in call.args):
            continue
        yield from _optimizer_call(facts, call, real, tables, tf)


def _optimizer_call(facts: Facts, call: cst.Call, real: str, tables: Tables, tf: str) -> Iterator[CallChange]:
    known = names.canonical(real)
    arguments = [Argument(a.value, a.keyword.value if a.keyword is not None else None, a) for a in call.args]
    renamed = {r.old: r.new for r in tables.arguments if r.of == "keras.optimizers" and r.new}
    changes: list[CallChange] = []
    for position, argument in enumerate(arguments):
        if argument.keyword in renamed:
            new = renamed[argument.keyword]
            arguments[position] = replace(argument, keyword=new)
            changes.append(
                CallChange(codes.RENAMED_ARGUMENTS, call, f"the argument `{argument.keyword}` is `{new}` now", None)
            )
    present = {argument.keyword for argument in arguments if argument.keyword is not None}
    rates = ("learning_rate", "lr")
    if arguments and arguments[0].keyword is None:
        present.add("learning_rate")
    if codes.OPTIMIZER_DECAY in tables.wanted:
        changes.extend(_without_decay(facts, call, known, arguments, tables, tf))
        present = present | {argument.keyword for argument in arguments if argument.keyword is not None}
    for default in tables.defaults:
        missing = default.argument not in present and not (default.argument in rates and present & set(rates))
        if default.of == known and default.flavour == names.flavour(real) and missing and default.old != default.new:
            if default.new is None:
                continue
            arguments.append(Argument(repr(default.old), default.argument))
            changes.append(
                CallChange(
                    codes.OPTIMIZER_DEFAULTS,
                    call,
                    f"{default.argument} was {default.old} by default and is {default.new} now: the old value is "
                    "written out",
                    None,
                )
            )
    if changes:
        edit = Arguments(call, tuple(arguments))
        yield replace(changes[0], edit=edit)
        yield from changes[1:]


def _without_decay(
    facts: Facts, call: cst.Call, known: str, arguments: list[Argument], tables: Tables, tf: str
) -> Iterator[CallChange]:
    """`decay=d` shrank the rate by 1 / (1 + d * step), which InverseTimeDecay(rate, 1, d) says in full."""
    decay = next((argument for argument in arguments if argument.keyword == "decay"), None)
    if decay is None or isinstance(decay.value, str):
        return
    arguments.remove(decay)
    value = decay.value
    if isinstance(value, cst.Float | cst.Integer) and value.evaluated_value == 0:
        yield CallChange(codes.OPTIMIZER_DECAY, call, "`decay=0` no longer exists and did nothing", None)
        return
    rate = next((a for a in arguments if a.keyword in ("learning_rate", "lr")), None)
    if rate is None and arguments and arguments[0].keyword is None:
        rate = arguments[0]
    default = next((d for d in tables.defaults if d.of == known and d.argument == "learning_rate"), None)
    if rate is not None and not isinstance(rate.value, str):
        base = facts.module.code(rate.value)
    elif default is not None:
        base = repr(default.old)
    else:
        arguments.append(decay)
        return
    schedule = f"{tf}.keras.optimizers.schedules.InverseTimeDecay({base}, 1, {facts.module.code(value)})"
    message = "`decay` is ignored by Keras 3: written out as the schedule it was"
    if rate is None:
        arguments.append(Argument(schedule, "learning_rate", decay.source))
    else:
        position = arguments.index(rate)
        arguments[position] = replace(rate, value=schedule)
    yield CallChange(codes.OPTIMIZER_DECAY, call, message, None)


def moved_attributes(facts: Facts, tables: Tables, tf: str) -> Iterator[CallChange]:
    """`keras.utils.np_utils.to_categorical`: a moved module or name reached through an imported one."""
    for node, name in facts.symbols.items():
        root = root_name(node)
        if not isinstance(node, cst.Attribute) or root is None or names.canonical(name) == names.MULTI_GPU_MODEL:
            continue
        old_root = facts.symbols.get(root)
        if old_root is None or node.value not in facts.symbols:
            continue
        new, new_root = tables.moves.moved(name), tables.moves.moved(old_root)
        whole = tables.moves.moved(facts.symbols[node.value])
        if new == f"{whole}.{node.attr.value}":
            continue
        if new.startswith(new_root + "."):
            text = root.value + new[len(new_root) :]
        elif new.startswith("tensorflow."):
            text = tf + new[len("tensorflow") :]
        else:
            continue
        yield CallChange(codes.MOVED_MODULES, node, f"{name} is {new}", Replace(node, text))


def root_name(node: cst.CSTNode) -> cst.Name | None:
    """The name at the left end of a dotted expression."""
    while isinstance(node, cst.Attribute):
        node = node.value
    return node if isinstance(node, cst.Name) else None


def string_optimizers(facts: Facts, tables: Tables, tf: str) -> Iterator[CallChange]:
    """`compile(optimizer='adadelta')` took the defaults of its time."""
    seen: set[cst.CSTNode] = set()
    for use in facts.uses:
        if use.method != "compile" or use.call in seen:
            continue
        named = named_arguments(use.call, ("optimizer", "loss", "metrics"))
        argument = named.get("optimizer") if named is not None else None
        if argument is None or not isinstance(argument.value, cst.SimpleString):
            continue
        seen.add(use.call)
        text = str(argument.value.evaluated_value)
        rows = [
            default
            for default in tables.defaults
            if default.of.rsplit(".", 1)[-1].lower() == text.lower()
            and default.flavour == _flavour_of(use, facts)
            and default.old != default.new
            and default.new is not None
        ]
        if not rows:
            continue
        written = ", ".join(f"{row.argument}={row.old!r}" for row in rows)
        was = ", ".join(f"{row.argument} {row.old} (now {row.new})" for row in rows)
        code = f"{tf}.keras.optimizers.{rows[0].of.rsplit('.', 1)[-1]}({written})"
        yield CallChange(
            codes.OPTIMIZER_DEFAULTS,
            argument.value,
            f"the optimizer {text!r} meant {was}: the old values are written out",
            Replace(argument.value, code),
        )


def _flavour_of(use: Use, facts: Facts) -> str:
    """Which Keras the compiled model came from."""
    found = set()
    for option in options(use.receiver):
        if isinstance(option, Parallel):
            found.add(names.flavour(facts.symbols.get(option.wrap.call.func, "")))
    for model in use.models:
        if isinstance(model.node, cst.Call):
            found.add(names.flavour(facts.symbols.get(model.node.func, "")))
    found.discard("")
    return "keras" if "keras" in found else (found.pop() if found else "")

