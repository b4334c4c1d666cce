"""Losses that want integers for targets, which Keras 3 hands over as floats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.calls import keywords
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.interfaces import CallChange, calls_in
from tfmigrate.plan.losses import name_of, parameters_of
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.program import Module
from tfmigrate.understand.values import FunctionValue, Items, Method, Value, options
from tfmigrate.understand.values import Mapping as Known
from tfmigrate.walk import walk

_INTEGERS = {
    "tensorflow.nn.sparse_softmax_cross_entropy_with_logits": "labels",
    "tensorflow.compat.v1.nn.sparse_softmax_cross_entropy_with_logits": "labels",
    "tensorflow.one_hot": "indices",
    "keras.backend.one_hot": "indices",
}
"""Functions that take integers alone, and the argument that is one."""


def integer_targets(facts: Facts, modules: Mapping[Module, Facts], tf: str) -> Iterator[CallChange]:
    """`labels=y_true` of a loss, whose targets a placeholder held as integers: Keras 3 makes floats of all targets.

    `modules`: the facts of every module of the program.
    """
    uses = [use for known in modules.values() for use in known.uses if use.method == "compile"]
    losses = {one for use in uses for one in _functions(use.argument(1, "loss")) if one.module is facts.module}
    for loss in sorted(losses, key=lambda one: facts.module.position(one.node)):
        parameters = parameters_of(loss)
        if not parameters or _is_bound_again(parameters[0], loss.node):
            continue
        for call in calls_in(loss.node.body):
            argument = _INTEGERS.get(name_of(call.func, facts))
            given = keywords(call).get(argument or "") or next((arg for arg in call.args if arg.keyword is None), None)
            if argument is None or given is None or not isinstance(given.value, cst.Name):
                continue
            if given.value.value == parameters[0]:
                message = "the targets come to a loss as floats on Keras 3, and integers are wanted here: they are cast"
                edit = Replace(given.value, f"{tf}.cast({{targets}}, {tf}.int32)", (("targets", given.value),))
                yield CallChange(codes.COMPILE_ARGUMENTS, call, message, edit)


def _functions(value: Value | None) -> Iterator[FunctionValue]:
    """The functions of the program that a loss can be, alone or for one output of several."""
    for option in options(value) if value is not None else ():
        if isinstance(option, FunctionValue):
            yield option
        elif isinstance(option, Method) and option.function is not None:
            yield option.function
        elif isinstance(option, Items | Known):
            for part in option.values:
                yield from _functions(part)


def _is_bound_again(name: str, function: cst.FunctionDef | cst.Lambda) -> bool:
    """Whether a function assigns to its parameter, and may have cast it."""
    return any(
        isinstance(part, cst.AssignTarget) and isinstance(part.target, cst.Name) and part.target.value == name
        for part in walk(function.body)
    )
