"""The batches that generators and Sequences of the program make, themselves or by the functions that they call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan.data.batches import data_of
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.values import FunctionValue, Instance, Made, Method, ModelObject, Value, contains_yield
from tfmigrate.walk import children, walk

_PREDICT = frozenset({"predict", "predict_generator"})


@dataclass(frozen=True)
class Batch:
    """An expression that is one batch, and the models that take it."""

    node: cst.BaseExpression
    function: cst.FunctionDef
    models: frozenset[ModelObject]
    is_yielded: bool
    """By a generator; else returned by a Sequence."""
    is_predicted: bool
    """Whether predict() takes it too, for which a list is several inputs."""


def batches_made(context: Context) -> Sequence[Batch]:
    """What the functions of a module yield, or return from `__getitem__`, that are trained or evaluated with.

    A batch that another function of the program makes for them, as in `return self.load(index)`, is found in that one.
    """
    return context.migration.once(_all_batches).get(context.facts.module, ())


def _all_batches(migration: Migration) -> Mapping[Module, Sequence[Batch]]:
    modules = migration.facts.modules
    models: dict[cst.FunctionDef, set[ModelObject]] = {}
    predicted: set[cst.FunctionDef] = set()
    for use in (use for known in modules.values() for use in known.uses):
        if use.method in _PREDICT:
            value = use.argument(0, "generator" if use.method.endswith("_generator") else "x")
            predicted.update(_with_helpers(_makers([value] if value is not None else []), modules))
        for data in data_of(use):
            for maker in _with_helpers(_makers(data.values), modules):
                models.setdefault(maker, set()).update(use.models)
    return {
        module: tuple(
            Batch(node, function, frozenset(models[function]), yielded, function in predicted)
            for function in module.all_of(cst.FunctionDef)
            if function in models
            for node, yielded in _yielded_or_returned(function.body)
        )
        for module in modules
    }


def targets_of(batch: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The elements after the inputs of a batch that is written out: targets and weights."""
    return parts_of(batch)[1:]


def parts_of(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The elements of a list or tuple that is written out whole."""
    if not isinstance(node, cst.List | cst.Tuple):
        return []
    plain = all(isinstance(element, cst.Element) for element in node.elements)
    return [element.value for element in node.elements] if plain else []


def _makers(values: Iterator[Value] | list[Value] | frozenset[Value]) -> Iterator[cst.FunctionDef]:
    """The functions that generators are of, and that give the batches of a Sequence."""
    for value in values:
        if isinstance(value, Made) and isinstance(value.source, cst.FunctionDef):
            yield value.source
        elif isinstance(value, Instance):
            method = value.cls.lookup("__getitem__")
            if isinstance(method, FunctionValue) and isinstance(method.node, cst.FunctionDef):
                yield method.node


def _with_helpers(makers: Iterable[cst.FunctionDef], modules: Mapping[Module, Facts]) -> Iterator[cst.FunctionDef]:
    """The functions, and those whose result one of them returns as its own batch, each once.

    What a generator yields is left alone: the dataset that it is wrapped in makes tuples of its lists.
    """
    pending, seen = list(makers), set[cst.FunctionDef]()
    while pending:
        maker = pending.pop()
        if maker in seen:
            continue
        seen.add(maker)
        yield maker
        facts = next((known for module, known in modules.items() if maker in module.places), None)
        if facts is None:
            continue
        for node, yielded in _yielded_or_returned(maker.body):
            for call in _calls(node, maker) if not yielded else ():
                pending += [function for function in called(call, facts) if not contains_yield(function)]


def _calls(node: cst.BaseExpression, function: cst.FunctionDef) -> Iterator[cst.Call]:
    """A call that a function returns, or assigns to the variable or variables that it returns."""
    if isinstance(node, cst.Call):
        yield node
    elif isinstance(node, cst.Name):
        for part in walk(function.body):
            if not isinstance(part, cst.Assign) or not isinstance(part.value, cst.Call):
                continue
            targets = [target.target for target in part.targets]
            if any(isinstance(target, cst.Name) and target.value == node.value for target in targets):
                yield part.value
    elif isinstance(node, cst.Tuple) and all(isinstance(part, cst.Name) for part in parts_of(node)):
        for part in walk(function.body):
            if isinstance(part, cst.Assign) and isinstance(part.value, cst.Call):
                unpacked = [parts_of(target.target) for target in part.targets]
                if any(_same_names(parts, parts_of(node)) for parts in unpacked):
                    yield part.value


def _same_names(elements: list[cst.BaseExpression], other: list[cst.BaseExpression]) -> bool:
    return len(elements) == len(other) > 0 and all(first.deep_equals(second) for first, second in zip(elements, other))


def called(call: cst.Call, facts: Facts) -> Iterator[cst.FunctionDef]:
    """The functions and methods of the program that a call may run."""
    for option in facts.options(call.func):
        function = option.function if isinstance(option, Method) else option
        if isinstance(function, FunctionValue) and isinstance(function.node, cst.FunctionDef):
            yield function.node


def _yielded_or_returned(body: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, bool]]:
    """What a function yields (True) or returns, without those inside it."""
    pending = [body]
    while pending:
        part = pending.pop()
        if isinstance(part, cst.FunctionDef | cst.ClassDef | cst.Lambda):
            continue
        if isinstance(part, cst.Yield) and isinstance(part.value, cst.BaseExpression):
            yield part.value, True
        elif isinstance(part, cst.Return) and part.value is not None:
            yield part.value, False
        pending += reversed(children(part))
