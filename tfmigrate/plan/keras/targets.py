"""Targets of another type than they were: Keras 3 makes floats of a loss's, and leaves a metric's as they come."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import passed_as, with_targets
from tfmigrate.plan.data.integer_arrays import IntegerArrays
from tfmigrate.plan.edits import Insert, Rank, Replace
from tfmigrate.plan.keras.compiled_functions import called, compiled, parameters_of
from tfmigrate.plan.keras.losses import Runs
from tfmigrate.plan.keras.mixed_samples import Reader
from tfmigrate.plan.keras.sample_shapes import name_of
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand.blocks import is_docstring, only_statement
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.values import FunctionValue, Items, Method, ModelObject, Value, options
from tfmigrate.understand.values import Mapping as Known
from tfmigrate.walk import calls_in, nodes_in, walk

_INTEGERS = {
    "tensorflow.nn.sparse_softmax_cross_entropy_with_logits": "labels",
    "tensorflow.compat.v1.nn.sparse_softmax_cross_entropy_with_logits": "labels",
    "tensorflow.one_hot": "indices",
    "keras.backend.one_hot": "indices",
}
"""Functions that take integers alone, and the argument that is one."""


def check(context: Context) -> Iterator[CallChange]:
    yield from integer_targets(context.facts, context.modules, context.tf)
    yield from metric_targets(context.facts, context.modules, context.single, context.tf)
    yield from loss_targets(context)


def loss_targets(context: Context) -> Iterator[CallChange]:
    """A loss that computes with targets that are seen to be integers, which Keras 2 of TensorFlow 2 does not cast."""
    facts, modules, reader = context.facts, context.modules, Reader(context.modules)
    of_integers = context.migration.once(_trained_on_integers)
    shown = [each for known in modules.values() for each in compiled(known)] if of_integers else []
    metrics = {value for each in shown if each.is_metric for value in each.values}
    losses: dict[cst.CSTNode, FunctionValue] = {}
    for each in shown:
        if each.is_metric or each.models.isdisjoint(of_integers):
            continue
        for value in each.values - metrics:
            if isinstance(value, FunctionValue) and value.module is facts.module and _computes_with(value, facts):
                mixes = reader.mixes_samples(value) and not reader.is_one_mean(value)
                if not mixes or each.models <= context.single:
                    losses[value.node] = value
    for loss in sorted(losses.values(), key=lambda one: facts.module.position(one.node)):
        message = (
            f"{called(loss)} is a loss, which on Keras 2 of TensorFlow 2 receives integer targets as integers "
            "(TypeError): old Keras cast them to floats"
        )
        yield _cast_first(loss, message, context.tf)


def _trained_on_integers(migration: Migration) -> frozenset[ModelObject]:
    """The models of a program that are trained or evaluated on targets that are seen to be integers."""
    found: set[ModelObject] = set()
    for module, facts in migration.facts.modules.items():
        arrays = IntegerArrays(facts, migration.scopes_of(module))
        for use in facts.uses:
            named = with_targets(use)
            if "y" in named and arrays.are(named["y"].value):
                found |= use.models
    return frozenset(found)


def integer_targets(facts: Facts, modules: Mapping[Module, Facts], tf: str) -> Iterator[CallChange]:
    """`labels=y_true` of a loss, whose targets a placeholder held as integers: Keras 3 makes floats of all targets.

    `modules`: the facts of every module of the program.
    """
    uses = [use for known in modules.values() for use in known.uses if use.method == "compile"]
    losses = {
        function for use in uses for function in _functions(use.argument(1, "loss")) if function.module is facts.module
    }
    for loss in sorted(losses, key=lambda one: facts.module.position(one.node)):
        parameters = parameters_of(loss)
        if not parameters or _is_bound_again(parameters[0], loss.node):
            continue
        for call in calls_in(loss.node.body):
            argument = _INTEGERS.get(name_of(call.func, facts))
            tensor = passed_as(argument, 0, call) if argument is not None else None
            if tensor is None or not isinstance(tensor.value, cst.Name):
                continue
            if tensor.value.value == parameters[0]:
                message = (
                    "a loss receives its targets as floats on Keras 3, but integers are needed here: they are cast"
                )
                edit = Replace(tensor.value, (f"{tf}.cast(", tensor.value, f", {tf}.int32)"))
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


_CAST = frozenset({"keras.backend.cast", "tensorflow.cast", "tensorflow.to_float", "tensorflow.compat.v1.to_float"})
_OF_ANY_TYPE = _CAST | {
    *(f"keras.backend.{name}" for name in ("argmax", "argmin", "shape", "int_shape", "ndim", "dtype", "eval")),
    *(f"tensorflow.{name}" for name in ("argmax", "argmin", "math.argmax", "math.argmin", "shape", "rank", "size")),
}
"""Functions that take one tensor of any type, and give none of its type."""


def metric_targets(
    facts: Facts, modules: Mapping[Module, Facts], single: Set[ModelObject], tf: str
) -> Iterator[CallChange]:
    """A metric's targets, which old Keras cast to floats: Keras 3 passes them with the data's own type.

    What is given the whole batch gets floats on the way. `modules`: the facts of every module of the program; `single`:
    models that no strategy has to do with, whose metrics are not given the whole batch.
    """
    reader, runs = Reader(modules), Runs.of(modules)
    functions: dict[cst.CSTNode, FunctionValue] = {}
    for known in modules.values():
        for shown in compiled(known):
            for value in shown.values if shown.is_metric else ():
                if isinstance(value, FunctionValue) and value.module is facts.module:
                    mixes = reader.mixes_samples(value) and not reader.is_one_mean(value)
                    gathered = mixes and not shown.models <= single and runs.gather(shown)
                    if not gathered and _computes_with(value, facts):
                        functions[value.node] = value
    for function in sorted(functions.values(), key=lambda one: facts.module.position(one.node)):
        message = (
            f"{called(function)} is a metric, which on Keras 3 receives the targets in the data's own type, integers "
            "and float64 too: old Keras cast them to floats"
        )
        yield _cast_first(function, message, tf)


def _cast_first(function: FunctionValue, message: str, tf: str) -> CallChange:
    """The targets are cast where a function begins."""
    targets, predictions = parameters_of(function)[:2]
    body = function.node.body
    line = f"{targets} = {tf}.cast({targets}, {predictions}.dtype)"
    if isinstance(body, cst.IndentedBlock):
        first = next(unit for unit in body.body if not is_docstring(only_statement(unit)))
        edit = Insert(first, line, rank=Rank.RULE)
        return CallChange(codes.COMPILE_ARGUMENTS, function.node, message, edit)
    return CallChange(codes.COMPILE_ARGUMENTS, function.node, f"{message}; write `{line}`", action="warn")


def _computes_with(function: FunctionValue, facts: Facts) -> bool:
    """Whether a metric computes with its targets together with something else, which must be of one type then."""
    parameters = parameters_of(function)
    if len(parameters) < 2:
        return False
    targets = parameters[0]
    harmless: set[cst.CSTNode] = set()
    for part in walk(function.node.body):
        if isinstance(part, cst.Call):
            name = name_of(part.func, facts)
            arguments = {arg.value for arg in part.args}
            cast = any(isinstance(node, cst.Name) and node.value == targets for node in arguments)
            if cast and (name in _INTEGERS or (name in _CAST and _is_bound_again(targets, function.node))):
                return False
            if name in _OF_ANY_TYPE or name.startswith(("keras.metrics.", "keras.losses.")):
                harmless |= arguments
            harmless |= {arg.keyword for arg in part.args if arg.keyword is not None}
        elif isinstance(part, cst.Attribute):
            harmless |= {part.value, part.attr}
    names_of = (node for node in nodes_in(function.node.body, cst.Name) if node.value == targets)
    return any(node not in harmless for node in names_of)
