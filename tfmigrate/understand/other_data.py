"""A function that is called again with other plain data, as texts and numbers: what its expressions stand for then."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

from tfmigrate.understand.joins import join
from tfmigrate.understand.lifecycle import ProgramFacts
from tfmigrate.understand.state import State, Summary
from tfmigrate.understand.summaries import plain_data
from tfmigrate.understand.values import (
    Arguments,
    FunctionValue,
    Items,
    Literal,
    Mapping,
    Method,
    Opaque,
    Value,
    options,
)
from tfmigrate.walk import walk

_KINDS_OF_CALLS = 4
"""The most calls of a function with different plain data that are followed; one more stands for all others."""
_UNKNOWN = Opaque("one of many values")


class Enter(Protocol):
    """What walks the body of a function with these arguments."""

    def __call__(self, arguments: Arguments, /) -> Value: ...


def value_for(state: State, function: FunctionValue, summary: Summary, arguments: Arguments, enter: Enter) -> Value:
    """What a function without effects returns for the plain data of a call.

    The first time that these data are passed, its body is walked for what its expressions stand for, and for nothing
    else: the models that it makes are those of the walk that the summary is of.
    """
    data = plain_data(arguments)
    if data not in summary.data and len(summary.data) >= _KINDS_OF_CALLS:
        data = tuple((keyword, None) for keyword, _ in data)
        arguments = tuple((keyword, _widened(argument)) for keyword, argument in arguments)
    if data not in summary.data:
        if state.left > state.kept:
            with state.aside() as found:
                value = enter(arguments)
            _note(found, state.lasting)
        else:
            value = _UNKNOWN
            _widen(function, state.lasting)
        summary = replace(summary, data={**summary.data, data: value})
        state.summaries[function.node] = summary
    return summary.data[data]


def with_data(value: Value, other: Value) -> Value:
    """A value with the plain data of another one, which is of the same shape."""
    if isinstance(value, Literal):
        return join(*_plain(other))
    if isinstance(value, Items) and isinstance(other, Items) and len(value.values) == len(other.values):
        return replace(value, values=tuple(map(with_data, value.values, other.values)))
    if isinstance(value, Mapping) and isinstance(other, Mapping) and value.keys == other.keys:
        return Mapping(value.keys, tuple(map(with_data, value.values, other.values)))
    kept = [option for option in options(value) if not isinstance(option, Literal)]
    if len(kept) == len(options(value)):
        return value
    # What is no data is as in `value`: the models of a builder that may return None.
    kinds = {type(option) for option in kept} - {Opaque, Method}
    return join(*kept, *_plain(join(*(option for option in options(other) if type(option) not in kinds))))


def _plain(value: Value) -> Iterator[Value]:
    """The plain data that a value may be; any other is not known."""
    for option in options(value):
        yield option if isinstance(option, Literal) else _UNKNOWN


def _widened(argument: Value) -> Value:
    """An argument as any other one of its kind."""
    return _UNKNOWN if isinstance(argument, Literal) else argument


def _note(found: ProgramFacts, facts: ProgramFacts) -> None:
    """Adds what expressions stand for that may be plain data."""
    for module, other in found.modules.items():
        values = facts.modules[module].values
        for node, value in other.values.items():
            known = values.get(node)
            if known is not None and known != value and (_has_data(known) or _has_data(value)):
                values[node] = join(known, *_plain(value)) if _has_data(known) else join(known, *_data(value))


def _has_data(value: Value) -> bool:
    return any(isinstance(option, Literal) for option in options(value))


def _data(value: Value) -> Iterator[Value]:
    return (option for option in options(value) if isinstance(option, Literal))


def _widen(function: FunctionValue, facts: ProgramFacts) -> None:
    """Notes that what is plain data in a function may be others."""
    values = facts.modules[function.module].values
    for node in walk(function.node):
        known = values.get(node)
        if known is not None and _has_data(known):
            values[node] = join(known, _UNKNOWN)
