"""How many threads or processes load a Sequence: Keras 2 asks fit(), Keras 3 the Sequence itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import EVALUATE, FIT, Revision, given_arguments, keywords
from tfmigrate.plan.data.sequences import LOADING, is_default, is_sequence, set_in
from tfmigrate.plan.edits import Edit, Forget, Insert, Rank
from tfmigrate.plan.names.context import Context
from tfmigrate.plan.names.interfaces import GENERATOR_METHODS
from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.scopes import LexicalScope
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import Opaque, Parameter, Symbol
from tfmigrate.walk import space_behind
from tfmigrate.written import Code, joined

_METHODS = {
    **{name: tuple(dict.fromkeys((*parameters, *LOADING))) for name, parameters in GENERATOR_METHODS.items()},
    "fit": (*FIT, *LOADING),
    "evaluate": (*EVALUATE, *LOADING),
}
_DATA = ("generator", "x", "validation_data")


def check(context: Context) -> Iterator[CallChange]:
    """`fit_generator(rows, workers=8)`: `rows.workers` says so before the call."""
    facts = context.facts
    before: tuple[Use, tuple[str, ...]] | None = None
    for use, data, asked in _loading(facts):
        sequences = [node for node in data if _surely_sequence(node, facts)]
        if sequences and isinstance(use.site.unit, cst.SimpleStatementLine):
            settings = _settings(use.call, asked, sequences, context)
            said = _said(settings, sequences, facts)
            if before is None or said != before[1] or not _is_kept(before[0], use, said, context):
                yield _set(use, settings, sequences, context)
                before = use, said
        elif not sequences and data and _may_be_sequence(data[0], facts):
            yield _unseen(use, asked, data[0], facts)


def _loading(
    facts: Facts,
) -> Iterator[tuple[Use, list[cst.BaseExpression], dict[str, cst.BaseExpression]]]:
    """The calls that say how their data is loaded: that data, and what they are given for it."""
    seen: set[cst.Call] = set()
    for use in facts.uses:
        named = _arguments(use) if use.is_of_model or use.method in GENERATOR_METHODS else None
        asked = {name: named[name].value for name in LOADING if name in named} if named is not None else {}
        if named is None or use.call in seen or all(is_default(name, value) for name, value in asked.items()):
            continue
        seen.add(use.call)
        yield use, [named[name].value for name in _DATA if name in named], asked


def _said(
    settings: Mapping[str, str | cst.BaseExpression], sequences: Sequence[cst.BaseExpression], facts: Facts
) -> tuple[str, ...]:
    """What the attributes of which Sequences are set to, as code."""
    code = facts.module.code
    values = (value if isinstance(value, str) else code(value) for value in settings.values())
    return (*map(code, sequences), *settings, *values)


def _is_kept(earlier: Use, use: Use, said: Iterable[str], context: Context) -> bool:
    """Whether what was set before an earlier call of the same block is so still before a later one: it is written with
    names and literals alone, and nothing between binds one of the names."""
    module = context.facts.module
    first, last = earlier.site.unit, use.site.unit
    blocks = {module.places[unit].block for unit in (first, last) if unit in module.places}
    if len(blocks) != 1 or module.order[first] >= module.order[last]:
        return False
    if not all(_PLAIN.fullmatch(text) for text in said):
        return False
    return not any(
        module.order[first] <= module.order[binding.unit] < module.order[last]
        for text in said
        for binding in context.scopes.bindings(text.partition(".")[0])
        if binding.unit in module.order
    )


_PLAIN = re.compile(r"[\w.]+")


def _unseen(use: Use, asked: Mapping[str, cst.BaseExpression], data: cst.BaseExpression, facts: Facts) -> CallChange:
    """The warning where the data may be a Sequence, and may be anything else."""
    written = {name: facts.module.code(value) for name, value in asked.items() if not is_default(name, value)}
    listed = ", ".join(f"`{name}={value}`" for name, value in written.items())
    message = (
        "in Keras 3 the number of threads or processes is set on the Sequence, not by arguments of fit(): if the "
        f"data is a Sequence, set the attributes that {use.method}() was given ({listed})"
    )
    return CallChange(codes.UNSEEN_LOADING, data, message, action="warn")


def _arguments(use: Use) -> dict[str, cst.Arg] | None:
    """The arguments of a method that loads data, by their names; None for any other method."""
    return given_arguments(use.call, _METHODS[use.method]) if use.method in _METHODS else None


def _settings(
    call: cst.Call, asked: Mapping[str, cst.BaseExpression], sequences: list[cst.BaseExpression], context: Context
) -> dict[str, str | cst.BaseExpression]:
    """The attributes to set before a call: those that it asks for, and to their defaults those that another call may
    have set on the same Sequence."""
    others = _set_on_others(call, sequences, context)
    return {
        name: asked.get(name, default)
        for name, default in LOADING.items()
        if (name in asked and not is_default(name, asked[name])) or context.migration.once(set_in)[name] - others
    }


def _set_on_others(call: cst.Call, sequences: list[cst.BaseExpression], context: Context) -> set[cst.CSTNode]:
    """The calls that set nothing on these Sequences: this one, and those that are given other Sequences."""
    ours = {value for node in sequences for value in context.facts.options(node)}
    others: set[cst.CSTNode] = {call}
    for facts in context.modules.values():
        for use in facts.uses:
            named = _arguments(use) or {}
            given = [facts.options(named[name].value) for name in _DATA if name in named]
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


@dataclass(frozen=True)
class _Held:
    """A Sequence, and what it is called before the call that is given it."""

    node: cst.BaseExpression
    name: str

    @property
    def is_made_in_call(self) -> bool:
        return not dotted(self.node)

    @classmethod
    def of(cls, node: cst.BaseExpression, wanted: str, scope: LexicalScope, context: Context) -> _Held:
        return cls(node, context.facts.module.code(node) if dotted(node) else context.scopes.fresh(wanted, scope))


def _set(
    use: Use, asked: Mapping[str, str | cst.BaseExpression], sequences: list[cst.BaseExpression], context: Context
) -> CallChange:
    """The attributes are set in lines before the call; a Sequence that is made in the call gets a name there."""
    scope = context.scopes.by_node[use.site.frame.function or context.facts.module.tree]
    wanted = ("train_sequence", *["validation_sequence"] * len(sequences))
    held = [_Held.of(node, name, scope, context) for node, name in zip(sequences, wanted, strict=False)]
    made = [each for each in held if each.is_made_in_call]
    looped = len(held) > 1 and len(asked) > 1
    if all(isinstance(node, cst.Call) for node in sequences):
        asked = {name: value for name, value in asked.items() if value != LOADING[name]}  # It has those already.
    remarks = {name: comment for name, arg in keywords(use.call).items() if name in asked and (comment := _remark(arg))}
    names = [each.name for each in held]
    if looped:
        variable = context.scopes.fresh("sequence", scope)
        indent = context.facts.module.indent_at(use.site.unit)
        loop = f"for {variable} in ({', '.join(names)}):\n"
        setting: Code = (loop, *_lines(asked, [f"{indent}{variable}"], remarks))
    else:
        setting = _lines(asked, names, remarks)
    lines: list[Code] = [(f"{each.name} = ", each.node) for each in made]
    insert: Edit = Insert(use.site.unit, joined([*lines, setting], "\n"), (use.site.unit,), rank=Rank.RULE)
    message = "in Keras 3 the number of threads or processes is set on the Sequence: written as its attributes"
    edit = Revision(use.call, wrapped=tuple((each.node, (each.name,)) for each in made)) if made else None
    moved = tuple(map(Forget, remarks.values()))
    more = (insert, *moved) if edit else moved
    return CallChange(codes.GENERATOR_METHODS, use.call, message, edit or insert, more=more)


def _lines(
    asked: Mapping[str, str | cst.BaseExpression], receivers: Sequence[str], remarks: Mapping[str, cst.Comment]
) -> Code:
    """A line for each attribute of each receiver, with the comment that stood behind the argument."""
    settings: list[Code] = [
        (f"{receiver}.{name} = ", value, f"  {remarks[name].value}" if name in remarks else "")
        for receiver in receivers
        for name, value in asked.items()
    ]
    return joined(settings, "\n")


def _remark(arg: cst.Arg) -> cst.Comment | None:
    """The comment behind an argument, which is about it."""
    space = space_behind(arg)
    return space.first_line.comment if isinstance(space, cst.ParenthesizedWhitespace) else None
