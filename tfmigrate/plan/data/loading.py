"""How many threads or processes load a Sequence: Keras 2 asks fit(), Keras 3 the Sequence itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import EVALUATE, FIT, Revision, given_arguments, keywords
from tfmigrate.plan.data.sequences import LOADING, is_default, is_sequence, set_in
from tfmigrate.plan.edits import Edit, Forget, Insert, Rank
from tfmigrate.plan.names.context import Context
from tfmigrate.plan.names.interfaces import GENERATOR_METHODS
from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.program import dotted
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.values import Opaque, Parameter, Symbol
from tfmigrate.written import Code, joined

_METHODS = {
    **{name: tuple(dict.fromkeys((*parameters, *LOADING))) for name, parameters in GENERATOR_METHODS.items()},
    "fit": (*FIT, *LOADING),
    "evaluate": (*EVALUATE, *LOADING),
}
_DATA = ("generator", "x", "validation_data")


def check(context: Context) -> Iterator[CallChange]:
    """`fit_generator(rows, workers=8)`: `rows.workers` says so before the call."""
    facts, scopes = context.facts, context.scopes
    seen: set[cst.Call] = set()
    for use in facts.uses:
        named = given_arguments(use.call, _METHODS[use.method]) if use.method in _METHODS else None
        of_model = use.is_of_model or use.method in GENERATOR_METHODS
        if named is None or use.call in seen or not of_model:
            continue
        asked = {name: named[name].value for name in LOADING if name in named}
        if all(is_default(name, value) for name, value in asked.items()):
            continue
        seen.add(use.call)
        data = [named[name].value for name in _DATA if name in named]
        sequences = [node for node in data if _surely_sequence(node, facts)]
        if sequences and isinstance(use.site.unit, cst.SimpleStatementLine):
            others = _set_on_others(use.call, sequences, context)
            # An attribute that nothing else sets has its default.
            settings = {
                name: asked.get(name, default)
                for name, default in LOADING.items()
                if (name in asked and not is_default(name, asked[name]))
                or context.migration.once(set_in)[name] - others
            }
            yield _set(use, settings, sequences, facts, scopes)
        elif not sequences and data and _may_be_sequence(data[0], facts):
            written = {name: facts.module.code(value) for name, value in asked.items() if not is_default(name, value)}
            listed = ", ".join(f"`{name}={value}`" for name, value in written.items())
            message = (
                "in Keras 3 the number of threads or processes is set on the Sequence, and fit() has no arguments "
                f"for it: if the data is a Sequence, give it the attributes that {use.method}() was passed ({listed})"
            )
            yield CallChange(codes.UNSEEN_LOADING, data[0], message, action="warn")


def _set_on_others(call: cst.Call, sequences: list[cst.BaseExpression], context: Context) -> set[cst.CSTNode]:
    """The calls that set nothing on these Sequences before a call: itself, and those that are given others."""
    ours = {value for node in sequences for value in context.facts.options(node)}
    others: set[cst.CSTNode] = {call}
    for facts in context.modules.values():
        for use in facts.uses:
            named = given_arguments(use.call, _METHODS[use.method]) if use.method in _METHODS else None
            given = [facts.options(named[name].value) for name in _DATA if name in named] if named is not None else []
            if given and all(given) and all(map(ours.isdisjoint, given)):
                others.add(use.call)
    return others


def _surely_sequence(node: cst.BaseExpression, facts: Facts) -> bool:
    values = facts.options(node)
    return bool(values) and all(map(is_sequence, values)) and (bool(dotted(node)) or isinstance(node, cst.Call))


def _may_be_sequence(node: cst.BaseExpression, facts: Facts) -> bool:
    """Whether the data is unknown, or a Sequence on some path."""
    values = facts.options(node)
    return not values or any(
        is_sequence(option) or isinstance(option, Opaque | Parameter | Symbol) for option in values
    )


def _set(
    use: Use,
    asked: Mapping[str, str | cst.BaseExpression],
    sequences: list[cst.BaseExpression],
    facts: Facts,
    scopes: Scopes,
) -> CallChange:
    """Lines before the call; what is made in the call itself gets a name there."""
    lines: list[Code] = []
    wrapped: list[tuple[cst.BaseExpression, Code]] = []
    scope = scopes.by_node[use.site.frame.function or facts.module.tree]
    held: list[str] = []
    for number, node in enumerate(sequences):
        name = facts.module.code(node)
        if not dotted(node):
            name = scopes.fresh("validation_sequence" if number else "train_sequence", scope)
            lines.append((f"{name} = ", node))
            wrapped.append((node, (name,)))
        held.append(name)
    looped = len(held) > 1 and len(asked) > 1
    set_on = [scopes.fresh("sequence", scope)] if looped else held
    if all(isinstance(node, cst.Call) for node in sequences):
        asked = {name: value for name, value in asked.items() if value != LOADING[name]}  # It has those already.
    indent = facts.module.indent_at(use.site.unit) if looped else ""
    remarks = {name: comment for name, arg in keywords(use.call).items() if name in asked and (comment := _remark(arg))}
    settings: list[Code] = [
        (f"{indent}{receiver}.{name} = ", value, f"  {remarks[name].value}" if name in remarks else "")
        for receiver in set_on
        for name, value in asked.items()
    ]
    setting = joined(settings, "\n")
    if looped:
        setting = (f"for {set_on[0]} in ({', '.join(held)}):\n", *setting)
    insert: Edit = Insert(use.site.unit, joined([*lines, setting], "\n"), (use.site.unit,), rank=Rank.RULE)
    message = "in Keras 3 the number of threads or processes is set on the Sequence: written as its attributes"
    edit = Revision(use.call, wrapped=tuple(wrapped)) if wrapped else None
    moved = tuple(map(Forget, remarks.values()))
    more = (insert, *moved) if edit else moved
    return CallChange(codes.GENERATOR_METHODS, use.call, message, edit or insert, more=more)


def _remark(arg: cst.Arg) -> cst.Comment | None:
    """The comment behind an argument, which is about it."""
    space = arg.comma.whitespace_after if isinstance(arg.comma, cst.Comma) else arg.whitespace_after_arg
    return space.first_line.comment if isinstance(space, cst.ParenthesizedWhitespace) else None
