"""A call's arguments by name, whichever way they were passed, and changes of some of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import libcst as cst

from tfmigrate.plan.edits import Argument, Arguments, Edit
from tfmigrate.understand.lifecycle import Use
from tfmigrate.understand.reaching import bound, explicit
from tfmigrate.understand.syntax import dotted
from tfmigrate.written import Code

FIT = (
    "x", "y", "batch_size", "epochs", "verbose", "callbacks", "validation_split", "validation_data", "shuffle",
    "class_weight", "sample_weight", "initial_epoch", "steps_per_epoch", "validation_steps",
)  # fmt: skip
"""Parameters of Model.fit in order, Keras 2.0.9 to 2.3.1 and tf.keras 1.5 to 2.3."""
FIT_GENERATOR = (
    "generator", "steps_per_epoch", "epochs", "verbose", "callbacks", "validation_data", "validation_steps",
    "validation_freq", "class_weight", "max_queue_size", "workers", "use_multiprocessing", "shuffle", "initial_epoch",
)  # fmt: skip
"""Keras 2.3 and tf.keras; before 2.3 there was no `validation_freq`, so a seventh positional argument is ambiguous."""
EVALUATE = ("x", "y", "batch_size", "verbose", "sample_weight", "steps")
WITH_TARGETS: Mapping[str, Sequence[str]] = {
    "fit": FIT,
    "fit_generator": FIT_GENERATOR,
    "evaluate": EVALUATE,
    "train_on_batch": ("x", "y", "sample_weight", "class_weight"),
    "test_on_batch": ("x", "y", "sample_weight"),
}
"""The methods that take data with its targets, and their parameters in order."""


def with_targets(use: Use) -> dict[str, cst.Arg]:
    """The arguments of a method that takes data with its targets; none for another, or where *args hides them."""
    parameters = WITH_TARGETS.get(use.method)
    return (named_arguments(use.call, parameters) if parameters is not None else None) or {}


@dataclass(frozen=True)
class Revision:
    """A change of some of a call's arguments, all named by keyword. Several revisions can concern one call."""

    call: cst.Call
    renamed: tuple[tuple[str, str], ...] = ()
    """(old, new) keywords."""
    dropped: tuple[str, ...] = ()
    set: tuple[tuple[str, str | Code], ...] = ()
    """(keyword, new code), in the place of the old value, or at the end where there is none."""
    positional: tuple[tuple[int, int, str | Code], ...] = ()
    """(first, end, new code): the positional arguments first to end - 1 become one."""
    named: tuple[tuple[int, str], ...] = ()
    """(position, keyword): positional arguments that get a name."""
    wrapped: tuple[tuple[cst.BaseExpression, Code], ...] = ()
    """(value, code): an argument becomes more than its value, see `Argument`."""


def combined(edits: Iterable[Edit], revisions: Iterable[Revision]) -> list[Edit]:
    """The edits with the revisions worked into them: one Arguments for each call, where there was one already too."""
    calls: dict[cst.Call, Arguments] = {}
    others: list[Edit] = []
    for edit in edits:
        if isinstance(edit, Arguments):
            calls[edit.call] = edit
        else:
            others.append(edit)
    for revision in revisions:
        edit = calls.get(revision.call) or Arguments(revision.call, unchanged(revision.call.args))
        calls[revision.call] = _revised(edit, revision)
    return [*others, *calls.values()]


def unchanged(args: Iterable[cst.Arg]) -> tuple[Argument, ...]:
    """Arguments of a call as they stand, for the new one."""
    return tuple(Argument(arg.value, arg.keyword.value if arg.keyword else None, arg) for arg in args)


def with_code(argument: Argument, code: str | Code) -> Argument:
    """An argument with another value."""
    if isinstance(code, str):
        return replace(argument, value=code, code=())
    value = argument.source.value if argument.source is not None else argument.value
    return replace(argument, value=value, code=code)


def _revised(edit: Arguments, revision: Revision) -> Arguments:
    new_names, names = dict(revision.renamed), dict(revision.named)
    values = dict(revision.set)
    arguments: list[Argument] = []
    for position, argument in enumerate(edit.arguments):
        merged = next((row for row in revision.positional if row[0] <= position < row[1]), None)
        if merged is not None:
            if position == merged[0]:
                arguments.append(with_code(argument, merged[2]))
            continue
        if argument.keyword is None and position in names:
            argument = replace(argument, keyword=names[position])
        name = argument.keyword
        if name in revision.dropped:
            continue
        if name is not None and name in new_names:
            argument = replace(argument, keyword=new_names[name])
        if argument.keyword is not None and argument.keyword in values:
            argument = with_code(argument, values.pop(argument.keyword))
        for value, code in revision.wrapped:
            if argument.value is value:
                argument = replace(argument, code=_nested(value, argument.code or (value,), code))
        arguments.append(argument)
    arguments.extend(with_code(Argument("None", name), code) for name, code in values.items())
    return replace(edit, arguments=tuple(arguments))


def _nested(value: cst.BaseExpression, piece: Code, other: Code) -> Code:
    """The code of two revisions of a value, one put round the other."""
    outer, inner = (other, piece) if value in other else (piece, other)
    return tuple(part for whole in outer for part in (inner if whole is value else (whole,)))


def named_arguments(call: cst.Call, parameters: Sequence[str]) -> dict[str, cst.Arg] | None:
    """Each argument under its parameter's name, in order of appearance; None with *args, **kwargs or too many."""
    return bound(call.args, parameters)


def given_arguments(call: cst.Call, parameters: Sequence[str]) -> dict[str, cst.Arg] | None:
    """As named_arguments, of a call that may pass more as **kwargs: what is written out."""
    written = [arg for arg in call.args if arg.star != "**"]
    return bound(written, parameters)


def passed_as(name: str, position: int, call: cst.Call) -> cst.Arg | None:
    """What a call passes for the parameter of a name and a place; None where it passes nothing, or that is hidden."""
    return dict(explicit(call.args, (*("",) * position, name))).get(name)


def keywords(call: cst.Call) -> dict[str, cst.Arg]:
    """The arguments passed by keyword."""
    return {arg.keyword.value: arg for arg in call.args if arg.keyword is not None}


def has_stars(call: cst.Call) -> bool:
    """Whether a call passes *args or **kwargs, which hide what else it passes."""
    return any(arg.star for arg in call.args)


def text_of(node: cst.BaseExpression | None) -> str | None:
    """The value of a plain string literal, None for anything else."""
    value = node.evaluated_value if isinstance(node, cst.SimpleString) else None
    return value if isinstance(value, str) else None


def named_items(node: cst.BaseExpression | None) -> dict[str, cst.BaseExpression] | None:
    """The values of a dict that is written out, by their names; None where a key is anything else, or it is no dict."""
    if not isinstance(node, cst.Dict):
        return None
    items: dict[str, cst.BaseExpression] = {}
    for element in node.elements:
        name = text_of(element.key) if isinstance(element, cst.DictElement) else None
        if name is None or name in items:
            return None
        items[name] = element.value
    return items


def quoted(text: str, quote: str) -> str:
    """The string literal of a text, in these quotes where no character of it stands in the way."""
    return f"{quote}{text}{quote}" if text.isprintable() and not {"'", '"', "\\"} & set(text) else repr(text)


def is_none(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Name) and node.value == "None"


def is_false(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Name) and node.value == "False"


def is_true(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Name) and node.value == "True"


def is_zero(node: cst.BaseExpression | None) -> bool:
    """Whether the number 0 is written out."""
    return isinstance(node, cst.Float | cst.Integer) and node.evaluated_value == 0


def is_flag(node: cst.BaseExpression) -> bool:
    """Whether True or False is written out."""
    return is_true(node) or is_false(node)


def truth_of(node: cst.BaseExpression) -> bool | None:
    """Whether a literal counts as true, as 1 and "True" do too; None for anything else."""
    if isinstance(node, cst.Integer | cst.SimpleString):
        return bool(node.evaluated_value)
    return is_true(node) if is_flag(node) or is_none(node) else None


def given_optimizer(call: cst.Call) -> cst.BaseExpression | None:
    """What compile() is given as its optimizer, where that is a name or an attribute."""
    argument = passed_as("optimizer", 0, call)
    return argument.value if argument is not None and dotted(argument.value) else None
