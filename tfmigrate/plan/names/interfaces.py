"""Removed and renamed interfaces and changed defaults: what the tables of rules/ say, applied to calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import FIT_GENERATOR, Revision, given_arguments, keywords, unchanged
from tfmigrate.plan.change.spread import Handed, handed
from tfmigrate.plan.edits import Argument, Arguments, Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.plan.names.excused import taken_out
from tfmigrate.plan.names.parents import initialised
from tfmigrate.plan.names.tables import Tables
from tfmigrate.rules import Rename
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.syntax import root_name

GENERATOR_METHODS: dict[str, tuple[str, ...]] = {
    "fit_generator": FIT_GENERATOR,
    "evaluate_generator": (
        "generator", "steps", "callbacks", "max_queue_size", "workers", "use_multiprocessing", "verbose",
    ),
    "predict_generator": (
        "generator", "steps", "callbacks", "max_queue_size", "workers", "use_multiprocessing", "verbose",
    ),
}  # fmt: skip
"""Parameters of the methods that are gone, in order."""


def check(context: Context) -> Iterator[CallChange]:
    yield from generator_calls(context.facts, context.tables)
    yield from renamed_methods(context.facts, context.tables)
    yield from handed_on(context)
    yield from renamed_arguments(context.facts, context.tables)


def check_last(context: Context, others: Sequence[CallChange]) -> Iterator[CallChange]:
    """What was moved is not written again where another rule removes it."""
    vanished = set(taken_out(others))
    for change in moved_attributes(context.facts, context.tables, context.tf):
        if change.node not in vanished:
            yield change


def generator_calls(facts: Facts, tables: Tables) -> Iterator[CallChange]:
    """`fit_generator(gen, ...)` is `fit(gen, ...)`; the arguments of its worker threads are gone in Keras 3."""
    standalone = {use.call for use in facts.uses if any(names.flavour(m.maker) == "keras" for m in use.models)}
    for call, method in dict.fromkeys((use.call, use.method) for use in facts.uses):
        new, _ = tables.of_models.get(method, ("", ""))
        if new and method in GENERATOR_METHODS:
            yield _generator_call(call, method, new, tables)
            steps = _steps_of_arrays(call) if method == "fit_generator" and call in standalone else None
            if steps is not None:
                edit = Revision(call, dropped=("validation_steps",))
                yield CallChange(codes.GENERATOR_METHODS, steps, _ALL_ROWS, edit)


_ALL_ROWS = (
    "fit_generator() of standalone Keras validated on all rows of arrays and used `validation_steps` only for "
    "generators; fit() would take that many batches of 32 rows: it is removed"
)


def _steps_of_arrays(call: cst.Call) -> cst.Arg | None:
    """The `validation_steps` of a call whose validation data is written out as a tuple of arrays."""
    named = given_arguments(call, FIT_GENERATOR) or {}
    data = named.get("validation_data")
    arrays = data is not None and isinstance(data.value, cst.Tuple | cst.List) and len(data.value.elements) in (2, 3)
    return named.get("validation_steps") if arrays else None


def renamed_methods(facts: Facts, tables: Tables) -> Iterator[CallChange]:
    """Methods of models that take what they took, by another name."""
    for call, method in dict.fromkeys((use.call, use.method) for use in facts.uses if use.is_of_model):
        new, code = tables.of_models.get(method, ("", ""))
        if new and method not in GENERATOR_METHODS and isinstance(call.func, cst.Attribute):
            message = f"{method}() is {new}() now"
            yield CallChange(code, call, message, Replace(call.func, (call.func.value, f".{new}")))


def _generator_call(call: cst.Call, method: str, new: str, tables: Tables) -> CallChange:
    message = f"{method}() is {new}() in TensorFlow 2"
    of = f"keras.models.Model.{method}"
    gone = {rename.old for rename in tables.arguments if rename.of == of and not rename.new}
    named = given_arguments(call, GENERATOR_METHODS[method])
    if named is None:  # *args may hold the data: what has a name goes by today's
        kept = [argument for argument in unchanged(call.args) if argument.keyword not in gone]
        arguments = [replace(argument, keyword=_TODAY.get(name := argument.keyword, name)) for argument in kept]
        dropped = sorted(gone & keywords(call).keys())
    else:
        data = named.get("generator")
        given = {name: arg for name, arg in named.items() if name not in gone and arg is not data}
        arguments = [Argument(arg.value, name, arg) for name, arg in given.items()]
        arguments += unchanged(arg for arg in call.args if arg.star)
        if data is not None:
            arguments.insert(0, Argument(data.value, None, data))
        dropped = sorted(gone & named.keys())
    if dropped:
        message += f"; {', '.join(dropped)} no longer {'exists' if len(dropped) == 1 else 'exist'} there"
    return CallChange(codes.GENERATOR_METHODS, call, message, Arguments(call, tuple(arguments), new))


_TODAY: Mapping[str | None, str] = {"generator": "x"}
"""Names of arguments that fit(), evaluate() and predict() have under another one."""


def handed_on(context: Context) -> Iterator[CallChange]:
    """Arguments that were removed or renamed and reach a method through `**`. A dict that is written for such calls is
    changed; anything else is reported at the call."""
    needs = _needs_through_stars(context.facts, context.tables)
    passed = _mendable(needs, context)
    done: set[cst.CSTNode] = set()
    for call, need in needs.items():
        given = passed.get(call)
        if given is None:
            yield from _told(call, need)
            continue
        for name, new in sorted(need.items()):
            one = given[name]
            edit = one.renamed(new) if new else one.dropped
            if one.node not in done and edit is not None:
                done.add(one.node)
                message = f"the argument `{name}` is `{new}` now" if new else f"the argument `{name}` no longer exists"
                if name in _OF_SEQUENCES:
                    message += ": in Keras 3 it is an attribute of a Sequence"
                yield CallChange(codes.GENERATOR_METHODS, one.node, message, edit)


_OF_SEQUENCES = ("workers", "use_multiprocessing", "max_queue_size")
_READ_IN_THE_CALL = frozenset(
    {"steps_per_epoch", "validation_data", "validation_split", "validation_steps", "class_weight"}
)
"""What other rules look at, and change, only where it is written in the call."""


def _needs_through_stars(facts: Facts, tables: Tables) -> dict[cst.Call, dict[str, str]]:
    """For each call that is given through `**` what today's method does not take: those names, with their new ones, or
    with "" where they are gone."""
    needs: dict[cst.Call, dict[str, str]] = {}
    for use in facts.uses:
        need = {}
        if use.method in GENERATOR_METHODS or use.is_of_model:
            method = f"keras.models.Model.{use.method}"
            passed = {keyword for keyword, _ in use.arguments if keyword is not None} - keywords(use.call).keys()
            need = {row.old: row.new for row in tables.arguments if row.of == method and row.old in passed}
        if use.method in GENERATOR_METHODS and use.method in tables.of_models and _all_but_the_data(use.call):
            need["generator"] = "x"
        if need:
            needs.setdefault(use.call, {}).update(need)
    return needs


def _mendable(needs: Mapping[cst.Call, Mapping[str, str]], context: Context) -> dict[cst.Call, dict[str, Handed]]:
    """What each call is given, where all that it needs can be done to it, and nothing that another call needs not."""
    given = handed(list(needs), context.facts, context.scopes)
    wanted: dict[cst.CSTNode, list[str | None]] = {}
    for call, parts in given.items():
        for name, one in parts.items():
            wanted.setdefault(one.node, []).append(needs[call].get(name))
    return {
        call: parts
        for call, parts in given.items()
        if needs[call].keys() <= parts.keys()
        and parts.keys().isdisjoint(_READ_IN_THE_CALL)
        and all(len(set(wanted[one.node])) == 1 for one in parts.values())
        and all(new or parts[name].dropped is not None for name, new in needs[call].items())
    }


def _told(call: cst.Call, need: Mapping[str, str]) -> Iterator[CallChange]:
    gone = sorted(name for name, new in need.items() if not new)
    if gone:
        exist, be = ("exists", "is") if len(gone) == 1 else ("exist", "are")
        where = "it where it is passed" if len(gone) == 1 else "them where they are passed"
        message = f"{', '.join(gone)} no longer {exist}, and {be} passed through `**` here: remove {where}"
        yield CallChange(codes.GENERATOR_METHODS, call, message, action="warn")
    for old, new in need.items():
        if new:
            message = f"`{old}` is `{new}` now, and is passed through `**` here: rename it where it is passed"
            yield CallChange(codes.GENERATOR_METHODS, call, message, action="warn")


def _all_but_the_data(call: cst.Call) -> bool:
    """Whether a call names no data, which must come through its `**` then."""
    return [arg.star for arg in call.args if arg.keyword is None] == ["**"] and "generator" not in keywords(call)


def renamed_arguments(facts: Facts, tables: Tables) -> Iterator[CallChange]:
    """Keywords of functions and of model methods that have another name now, or are gone."""
    rows: dict[str, list[Rename]] = {}
    for row in tables.arguments:
        if row.of is None or row.of.startswith("keras.optimizers"):
            continue
        if row.new or not row.of.endswith("_generator"):
            rows.setdefault(row.of, []).append(row)
    for call, of in _known_calls(facts):
        present = keywords(call)
        for row in rows.get(of, ()):
            if row.old not in present or row.new in present:
                continue
            if row.new:
                change = Revision(call, renamed=((row.old, row.new),))
                message = f"the argument `{row.old}` is `{row.new}` now"
            else:
                change = Revision(call, dropped=(row.old,))
                message = f"the argument `{row.old}` no longer exists"
            yield CallChange(tables.codes[row], present[row.old], message, change)


def _known_calls(facts: Facts) -> Iterator[tuple[cst.Call, str]]:
    """Each call of a name that a module brings, of the `__init__` that a class has from there, and of a method on a
    model of Keras, with one name for it."""
    for call in facts.module.calls:
        known = facts.canonical(call.func)
        if known:
            yield call, known
    for call, base in initialised(facts):
        yield call, facts.canonical(base)
    seen: set[cst.Call] = set()
    for use in facts.uses:
        if use.call not in seen and (use.is_of_model or use.method in GENERATOR_METHODS):
            seen.add(use.call)
            yield use.call, f"keras.models.Model.{use.method}"


_CASTS = {
    "tensorflow.compat.v1.to_bfloat16": "bfloat16",
    "tensorflow.compat.v1.to_double": "float64",
    "tensorflow.compat.v1.to_float": "float32",
    "tensorflow.compat.v1.to_int32": "int32",
    "tensorflow.compat.v1.to_int64": "int64",
}
"""Functions that `tf.cast` is the usual word for, with the type that they give."""


def moved_attributes(facts: Facts, tables: Tables, tf: str) -> Iterator[CallChange]:
    """`keras.utils.np_utils.to_categorical`: a moved module or name reached through an imported one, as a whole."""
    changes = {change.node: change for change in _moved_parts(facts, tables, tf)}
    inner = {below for node in changes for below in _reached_through(node)}
    yield from (change for node, change in changes.items() if node not in inner)


def _reached_through(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Of `a.b.c`: `a.b` and `a`."""
    while isinstance(node, cst.Attribute):
        node = node.value
        yield node


def _moved_parts(facts: Facts, tables: Tables, tf: str) -> Iterator[CallChange]:
    called = {call.func: call for call in facts.module.calls}
    for node, name in facts.symbols.items():
        root = root_name(node)
        if not isinstance(node, cst.Attribute) or root is None or names.canonical(name) == names.MULTI_GPU_MODEL:
            continue
        old_root = facts.symbols.get(root)
        if old_root is None or node.value not in facts.symbols or tables.moves.imported(name) == name:
            continue
        new, new_root = tables.moves.moved(name), tables.moves.moved(old_root)
        whole = tables.moves.moved(facts.symbols[node.value])
        if new == f"{whole}.{node.attr.value}":
            continue
        if f"{new}.".startswith(new_root + "."):
            text = root.value + new[len(new_root) :]
        elif new == "tensorflow" or new.startswith("tensorflow."):
            text = tf + new[len("tensorflow") :]
        else:
            continue
        code = tables.moves.rule_of(name) or codes.MOVED_MODULES
        call = called.get(node)
        if new in _CASTS and call is not None and len(call.args) == 1 and call.args[0].keyword is None:
            arguments = (*unchanged(call.args), Argument(f"{tf}.{_CASTS[new]}"))
            message = f"{name}(x) is tensorflow.cast(x, tensorflow.{_CASTS[new]})"
            yield CallChange(code, node, message, Arguments(call, arguments, function=f"{tf}.cast"))
            continue
        yield CallChange(code, node, f"{name} is {new}", Replace(node, text))
