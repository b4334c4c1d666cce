"""The losses and metrics that compile() is given."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, replace

import libcst as cst

from tfmigrate.plan.change.calls import named_arguments
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.parameters import positional
from tfmigrate.understand.reaching import bound_once, is_static
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.values import (
    ClassValue,
    FunctionValue,
    Instance,
    Items,
    Method,
    ModelObject,
    Partial,
    Value,
    options,
)
from tfmigrate.understand.values import Mapping as Known
from tfmigrate.walk import values_returned, walk


@dataclass(frozen=True)
class Shown:
    """A loss or metric that a compile() shows: its expression, and all that it can stand for."""

    call: cst.Call
    node: cst.BaseExpression
    values: frozenset[Value]
    is_metric: bool
    models: frozenset[ModelObject]
    is_written: bool = True
    """Whether it stands there; of `compile(**settings)` the expression is that of all settings."""


_OF_KERAS = frozenset({"compute_loss", "compiled_loss", "train_step"})
"""What a train_step() calls for the loss that compile() was given; the last on super()."""


def compiled(facts: Facts, scopes: Scopes | None = None) -> list[Shown]:
    """The losses and metrics of a module's compile() calls, each once for all it can stand for.

    `scopes`: where given, a list or dict that has a name is looked into, if nothing but compile() is given it.
    """
    shown: dict[tuple[cst.BaseExpression, str], Shown] = {}
    passed = []
    for use in facts.uses:
        named = named_arguments(use.call, ("optimizer", "loss", "metrics")) if use.method == "compile" else None
        for position, name in ((1, "loss"), (2, "metrics")):
            value = use.argument(position, name)
            if name == "loss" and use.models and all(map(takes_own_loss, use.models)):
                continue
            if value is not None and named is not None and name in named:
                passed.append((use, name, named[name].value, value))
            elif value is not None and (settings := settings_passed(use)) is not None:
                hidden = Shown(use.call, settings, frozenset(), name == "metrics", frozenset(), is_written=False)
                shown[settings, name] = _with(shown.get((settings, name), hidden), _called_in(value), use)
    arguments = {node for _, _, node, _ in passed}
    for use, name, argument, value in passed:
        display = _display_of(argument, arguments, scopes) if scopes is not None else None
        for node, values in _parts(display or argument, value, facts):
            known = shown.get((node, name), Shown(use.call, node, frozenset(), name == "metrics", frozenset()))
            shown[node, name] = _with(known, values, use)
    return list(shown.values())


def _with(shown: Shown, values: frozenset[Value], use: Use) -> Shown:
    return replace(shown, values=shown.values | values, models=shown.models | use.models)


def settings_passed(use: Use) -> cst.BaseExpression | None:
    """`settings` of `compile(**settings)`, where nothing else hides arguments."""
    stars = [arg for arg in use.call.args if arg.star]
    return stars[0].value if [arg.star for arg in stars] == ["**"] else None


def takes_own_loss(model: ModelObject) -> bool:
    """Whether the class of a model computes its loss in a train_step() of its own, and never asks Keras for it."""
    cls = model.instance.cls if model.instance is not None else None
    if cls is None or cls.lookup("train_step") is None:
        return False
    asked = (node.attr.value for part in cls.ancestors() for node in walk(part.node) if isinstance(node, cst.Attribute))
    return _OF_KERAS.isdisjoint(asked)


def _display_of(node: cst.BaseExpression, arguments: Set[cst.CSTNode], scopes: Scopes) -> cst.BaseExpression | None:
    """The list or dict that is written out where the only value of a name is, if only these arguments read it."""
    value = bound_once(node, scopes) if isinstance(node, cst.Name) else None
    if not isinstance(value, cst.List | cst.Tuple | cst.Dict | cst.BinaryOperation):
        return None
    return value if all(mention.binds or mention.node in arguments for mention in scopes.mentions_of(node)) else None


def _parts(
    node: cst.BaseExpression, value: Value, facts: Facts
) -> Iterator[tuple[cst.BaseExpression, frozenset[Value]]]:
    """The elements of a list or dict that is written out; one that is not, with all that its elements can be."""
    elements: list[cst.BaseExpression] = []
    if isinstance(node, cst.BinaryOperation) and isinstance(value, Items):  # [dice] * 3, [dice] + ["mse"]
        for side in (node.left, node.right):
            if isinstance(side, cst.List | cst.Tuple):
                for listed in (element.value for element in side.elements):
                    if not isinstance(listed, cst.BaseNumber | cst.BaseString):
                        yield from _parts(listed, facts.values.get(listed, value), facts)
            elif isinstance(side, cst.BinaryOperation) or isinstance(facts.values.get(side), Items):
                yield from _parts(side, facts.values.get(side, value), facts)
        return
    if isinstance(node, cst.List | cst.Tuple | cst.Dict):
        elements = [element.value for element in node.elements]
    if isinstance(value, Items | Known) and len(elements) == len(value.values):
        for element, part in zip(elements, value.values):
            yield from _parts(element, part, facts)
    else:
        yield node, _called_in(value)


def _called_in(value: Value) -> frozenset[Value]:
    """All that is run where a value, or what it holds, is called."""
    things = options(value) | {part for option in options(value) for part in _inner(option)}
    return frozenset(called for thing in things for called in called_by(thing))


def called_by(value: Value) -> Iterator[Value]:
    """What is run where a value is called: the function of a method, of a partial(), and of an object beside itself."""
    if isinstance(value, Method):
        yield value.function or value
    elif isinstance(value, Instance):
        own = value.cls.lookup("call" if _is_loss_class(value.cls) else "__call__")
        yield from (value, own) if own is not None else (value,)
    elif isinstance(value, Partial):
        run = [inner for option in options(value.callee) for inner in called_by(option)]
        yield from [inner for inner in run if isinstance(inner, FunctionValue)] or (value,)
    else:
        yield value


def _is_loss_class(cls: ClassValue) -> bool:
    return any(names.canonical(base).startswith(("keras.losses.", "keras.metrics.")) for base in cls.outside_bases())


def _inner(value: Value) -> Iterator[Value]:
    if isinstance(value, Items | Known):
        for part in value.values:
            yield from options(part)


def parameters_of(function: FunctionValue) -> list[str]:
    """The names of what a loss is called with, its object left out."""
    declared = [param.name.value for param in positional(function.node.params)]
    return declared[1:] if function.owner is not None and not is_static(function.node) else declared


def returned_by(function: FunctionValue) -> list[cst.BaseExpression | None]:
    """What each `return` of a loss gives, or the only expression of a lambda."""
    node = function.node
    return list(values_returned(node.body)) if isinstance(node, cst.FunctionDef) else [node.body]


def called(function: FunctionValue) -> str:
    """What a message calls a function."""
    if not isinstance(function.node, cst.FunctionDef):
        return "this lambda"
    name = function.node.name.value
    if function.owner is not None and name in ("__call__", "call"):
        return f"{function.owner.node.name.value}.{name}()"
    return f"{name}()"
