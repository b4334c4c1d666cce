"""Functions of the program that a model function calls: what they build stays in them, what they compute goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import named_arguments, unchanged
from tfmigrate.plan.edits import Arguments, Remove, Signature, Unwrap
from tfmigrate.plan.estimator.arms import TRAINING
from tfmigrate.plan.estimator.model_reader import ModelReader
from tfmigrate.plan.estimator.own_code import builds, run_by
from tfmigrate.plan.estimator.reader import Unconvertible, training_modes
from tfmigrate.plan.estimator.things import (
    EVAL,
    MODES,
    PLAIN,
    PREDICT,
    STAYS,
    TRAIN,
    Mode,
    Object,
    Tensor,
    Thing,
    Training,
)
from tfmigrate.understand.blocks import units_of
from tfmigrate.understand.objects import receiver_of
from tfmigrate.understand.parameters import positional
from tfmigrate.understand.reaching import parameters_of
from tfmigrate.understand.values import FunctionValue
from tfmigrate.walk import calls_in, nodes_in, walk, words_in


def read_closure(reader: ModelReader, node: cst.Call, function: FunctionValue) -> Thing:
    """What a function is that is passed nothing of the model, and may read it of the function round it."""
    if builds(reader.program, function):
        message = f"{reader.module.code(node.func)} creates its own layers or variables"
        raise reader.refuse(codes.NO_KERAS_LAYER, node, message)
    if function.node not in set(walk(reader.plan.function)):
        return PLAIN
    computed = reader.attempt(lambda: read_computing(reader, node, function, [PLAIN] * len(node.args)))
    if not isinstance(computed, Unconvertible):
        return computed
    read = words_in(function.node.body) - set(parameters_of(function.node))
    if any(not isinstance(reader.names[name], STAYS) for name in read & reader.names.keys()):
        raise computed
    return PLAIN


def read_computing(reader: ModelReader, node: cst.Call, function: FunctionValue, passed: Sequence[Thing]) -> Thing:
    """What a function of the program returns that computes losses and metrics, and builds no part of the model: it
    goes with them. Raises Unconvertible."""
    definition = function.node
    assert isinstance(definition, cst.FunctionDef)
    bound = _bound(reader, node, definition, passed)
    returns = list(nodes_in(definition.body, cst.Return))
    if definition in reader.called_with or definition is reader.plan.function:
        raise reader.refuse(codes.NO_KERAS_LAYER, node, f"{definition.name.value} is called in two ways")
    if definition in reader.entered or len(returns) != 1:
        message = f"{definition.name.value} returns in {len(returns)} places"
        raise reader.refuse(codes.NO_KERAS_LAYER, node, message)
    edits, removed, assigned = len(reader.plan.edits), len(reader.removed), len(reader.assigned)
    returned, own = _read_body(reader, function, bound), reader.plan.edits[edits:]
    if returned is None or isinstance(returned, STAYS) or not all(isinstance(edit, Remove) for _, edit in own):
        message = (
            f"{definition.name.value} gets the labels or the model's output, and computes more from them than a loss "
            "or metrics"
        )
        raise reader.refuse(codes.NO_KERAS_LAYER, node, message)
    del reader.plan.edits[edits:], reader.removed[removed:], reader.assigned[assigned:]
    reader.plan.functions.add(definition)
    reader.plan.computing.add(definition)
    name = definition.name.value
    if function.module is reader.plan.module and (function.module, name) not in reader.program.exported:
        reader.edit(Unwrap(definition, None))
        reader.unwrapped[definition] = None
    return returned


def _bound(
    reader: ModelReader, node: cst.Call, definition: cst.FunctionDef, passed: Sequence[Thing], own: str | None = None
) -> dict[str, Thing]:
    """What each parameter of a function stands for, in a call; but for its object."""
    params = [param.name.value for param in positional(definition.params) if param.name.value != own]
    named = named_arguments(node, params)
    if named is None or not set(named) <= set(params):
        raise reader.refuse(codes.NO_KERAS_LAYER, node, "its arguments cannot be matched with its parameters")
    kinds = {id(arg): thing for arg, thing in zip(node.args, passed, strict=True)}
    bound = {name: kinds[id(named[name])] if name in named else PLAIN for name in params}
    for name in TRAINING & named.keys():
        told = training_modes(reader, named[name].value)
        if told is not None and reader.modes != MODES and told & reader.modes == {TRAIN} & reader.modes:
            bound[name] = Training(frozenset({TRAIN}))
    return bound


def _read_body(reader: ModelReader, function: FunctionValue, bound: Mapping[str, Thing]) -> Thing | None:
    """Read the statements of a function of the program whose parameters stand for this; returns what it returns."""
    definition = function.node
    assert isinstance(definition, cst.FunctionDef)
    saved = reader.names, reader.module, reader.returned
    closed_over = reader.names if definition in set(walk(reader.plan.function)) else {}
    reader.names, reader.module, reader.returned = {**closed_over, **bound}, function.module, None
    reader.entered.append(definition)
    for unit in units_of(definition.body):
        reader.statement(unit, reader.modes)
    reader.entered.pop()
    returned = reader.returned
    reader.names, reader.module, reader.returned = saved
    return returned


def read_building(
    reader: ModelReader,
    node: cst.Call,
    function: FunctionValue,
    passed: Sequence[Thing],
    receiver: Object | None = None,
) -> Thing:
    """A function of the program, or the method of an object, that builds a part of the model: its layers are
    rewritten where they stand."""
    definition = function.node
    if not isinstance(definition, cst.FunctionDef) or (receiver is not None and definition.decorators):
        raise reader.refuse(codes.NO_KERAS_LAYER, node, f"`{reader.module.code(node.func)}` cannot be followed")
    own = receiver_of(definition) if receiver is not None else None
    bound = _bound(reader, node, definition, passed, own)
    _check_that_one_reading_holds(reader, node, function, bound)
    reader.plan.functions.add(definition)
    again = _is_called_again(reader, definition)
    reader.repeats += again
    if receiver is None:
        returned = _read_body(reader, function, bound)
    else:
        reader.receivers.append(receiver)
        returned = _read_body(reader, function, bound if own is None else {**bound, own: receiver})
        reader.receivers.pop()
    reader.repeats -= again
    if not isinstance(returned, Tensor) and (receiver is None or returned is not None):
        raise reader.refuse(
            codes.NO_KERAS_LAYER, node, f"{definition.name.value} returns something other than a tensor"
        )
    _leave_out_modes(reader, node, function, bound, own)
    return Tensor(node) if isinstance(returned, Tensor) else PLAIN


def _leave_out_modes(
    reader: ModelReader, node: cst.Call, function: FunctionValue, bound: Mapping[str, Thing], own: str | None
) -> None:
    """Take out the parameters that stand for a mode, and what is passed for them."""
    definition = function.node
    assert isinstance(definition, cst.FunctionDef)
    dropped = {name for name, thing in bound.items() if isinstance(thing, Mode | Training)}
    if dropped:
        kept = [*([] if own is None else [own]), *(name for name in bound if name not in dropped)]
        reader.plan.edits.append((function.module, Signature(definition, tuple(kept))))
        told = [arg for name, arg in (named_arguments(node, list(bound)) or {}).items() if name in dropped]
        reader.edit(Arguments(node, unchanged(arg for arg in node.args if arg not in told)))


def _check_that_one_reading_holds(
    reader: ModelReader, node: cst.Call, function: FunctionValue, bound: Mapping[str, Thing]
) -> None:
    """Refuse a function that is passed other kinds of things elsewhere, or is being read already."""
    definition = function.node
    assert isinstance(definition, cst.FunctionDef)
    form = tuple(type(thing) for thing in bound.values())
    two_ways = reader.called_with.setdefault(definition, form) != form or definition in reader.plan.computing
    if two_ways or definition is reader.plan.function:
        raise reader.refuse(codes.NO_KERAS_LAYER, node, f"{definition.name.value} is called in two ways")
    if definition in reader.entered:
        message = f"{definition.name.value} calls itself"
        raise Unconvertible(codes.NO_KERAS_LAYER, function.module, definition, message)


def _is_called_again(reader: ModelReader, definition: cst.FunctionDef) -> bool:
    """Whether a function of the program is called in more than one place."""
    elsewhere = set(_calls_outside_training(reader))
    callees = [facts.values.get(call.func) for module, facts in reader.program.modules.items()
               for call in module.calls if call not in elsewhere]  # fmt: skip
    return sum(run_by(value) is definition for value in callees) > 1


def _calls_outside_training(reader: ModelReader) -> Iterator[cst.Call]:
    """The calls in arms of the model function that do not run in training."""
    for unit in nodes_in(reader.plan.function.body, cst.If):
        mode = unit.test.comparisons[0].comparator if isinstance(unit.test, cst.Comparison) else None
        if mode is not None and isinstance(unit.test, cst.Comparison) and len(unit.test.comparisons) == 1:
            equal = isinstance(unit.test.comparisons[0].operator, cst.Equal)
            if equal and reader.mode_named(mode, reader.plan.module) in (EVAL, PREDICT):
                yield from calls_in(unit.body)
