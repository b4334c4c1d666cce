"""Features whose rank TensorFlow does not know: Keras asks for it where the model's inputs are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from tfmigrate.plan.change.calls import keywords
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.syntax import last_attribute
from tfmigrate.understand.values import FunctionValue
from tfmigrate.walk import calls_in, nodes_in

_RANKLESS = frozenset({"py_func", "py_function", "numpy_function", "image.decode_image", "io.decode_image"})
"""Functions of TensorFlow, without `tensorflow.`, whose result has no rank before the graph runs."""
_SETTING = frozenset({"set_shape", "ensure_shape"})
_SHAPES = frozenset({"output_shapes", "output_signature"})


def rankless(facts: Facts, function: FunctionValue) -> cst.Call | None:
    """What gives the features of an input function without a rank, where that can be seen; None elsewhere."""
    calls = calls_in(function.node.body)
    maps = [call for call in calls if _method(call) == "map" and call.args]
    for call in maps:
        value = facts.values.get(call.args[0].value)
        if isinstance(value, FunctionValue) and value.module is function.module:
            found = _first_returned(facts, value.node)
            if found is not None:
                return found
    if maps:
        return None
    bare = [call for call in calls if _method(call) == "from_generator" and not keywords(call).keys() & _SHAPES]
    return next((call for call in bare if len(call.args) < 3), None)


def _first_returned(facts: Facts, function: cst.FunctionDef | cst.Lambda) -> cst.Call | None:
    """The call without a rank that gives the first of what a function returns."""
    if any(_method(call) in _SETTING for call in calls_in(function.body)):
        return None
    made = _made(function)
    bodies = [function.body] if isinstance(function, cst.Lambda) else _returned(function)
    for body in bodies:
        first = body.elements[0].value if isinstance(body, cst.Tuple) and body.elements else body
        given = [part.value for part in first.elements] if isinstance(first, cst.Dict) else [first]
        for value in given:
            maker = made.get(value.value) if isinstance(value, cst.Name) else value
            if isinstance(maker, cst.Call):
                symbol = names.plain(facts.called(maker)).removeprefix("tensorflow.")
                if symbol in _RANKLESS:
                    return maker
    return None


def _returned(function: cst.FunctionDef) -> Iterator[cst.BaseExpression]:
    return (line.value for line in nodes_in(function.body, cst.Return) if line.value is not None)


def _made(function: cst.FunctionDef | cst.Lambda) -> Mapping[str, cst.BaseExpression]:
    """What each variable of a function holds at its end, as far as one assignment says; one of a tuple is all of it."""
    made: dict[str, cst.BaseExpression] = {}
    for line in nodes_in(function.body, cst.Assign):
        for target in line.targets:
            for name in nodes_in(target, cst.Name):
                made[name.value] = line.value
    return made


def _method(call: cst.Call) -> str:
    return last_attribute(call.func)
