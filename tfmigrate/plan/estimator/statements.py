"""Statements of a model function, with the modes they run in and those that go on behind them."""

from __future__ import annotations

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.calls import keywords, text_of
from tfmigrate.plan.estimator import penalties
from tfmigrate.plan.estimator.assignments import assign, note_in_arm
from tfmigrate.plan.estimator.branches import read_if
from tfmigrate.plan.estimator.model_reader import ModelReader
from tfmigrate.plan.estimator.reader import Unconvertible
from tfmigrate.plan.estimator.staying import is_emptied, nothing_stays, unwrap
from tfmigrate.plan.estimator.things import (
    MODES,
    PLAIN,
    STAYS,
    Choice,
    Features,
    Plain,
    Spec,
    Tensors,
    Training,
    TrainOp,
    Updates,
    Variables,
)
from tfmigrate.understand import names
from tfmigrate.understand.blocks import Unit, units_of
from tfmigrate.understand.purity import is_pure
from tfmigrate.understand.syntax import root_name
from tfmigrate.walk import walk


def read_statement(reader: ModelReader, unit: Unit, modes: frozenset[str]) -> frozenset[str]:
    """Read a statement that runs in `modes`; returns those whose run goes on behind it."""
    if isinstance(unit, cst.SimpleStatementLine | cst.SimpleStatementSuite):
        for small in unit.body:
            if not _small(reader, small):
                return frozenset()
        return modes
    if isinstance(unit, cst.If):
        return read_if(reader, unit, modes)
    if isinstance(unit, cst.With):
        return _with(reader, unit, modes)
    if isinstance(unit, cst.For):
        _loop(reader, unit, modes)
        return modes
    if isinstance(unit, cst.FunctionDef):
        reader.names[unit.name.value] = PLAIN
        return modes
    raise reader.refuse(codes.NO_KERAS_LAYER, unit, "this statement of model_fn is not understood")


def _loop(reader: ModelReader, unit: cst.For, modes: frozenset[str]) -> None:
    """A loop stays, unless nothing of it does: one that wrote summaries."""
    things = reader.attempt(lambda: reader.read(unit.iter))
    for name in walk(unit.target):
        if isinstance(name, cst.Name):
            reader.names[name.value] = PLAIN
    before = dict(reader.names)
    reader.repeats += 1
    reader.block(unit.body, modes)
    reader.repeats -= 1
    if any(type(reader.names.get(name, thing)) is not type(thing) for name, thing in before.items()
           if not isinstance(thing, Features | Plain)):  # fmt: skip
        raise reader.refuse(codes.NO_KERAS_LAYER, unit, "this loop binds a name to something else")
    # The variables of the graph, of which summaries were written.
    over = isinstance(things, Unconvertible | Variables)
    if is_emptied(reader, unit.body) and (over or is_pure(unit.iter)):
        unwrap(reader, unit, None)
    elif isinstance(things, Variables):
        message = "this loop does more with the variables of the graph than write summaries of them"
        raise reader.refuse(codes.NO_KERAS_LAYER, unit, message)
    elif not isinstance(things, Plain):
        refusal = reader.refuse(codes.NO_KERAS_LAYER, unit.iter, "this depends on the data or the mode")
        raise things if isinstance(things, Unconvertible) else refusal


def _with(reader: ModelReader, unit: cst.With, modes: frozenset[str]) -> frozenset[str]:
    for item in unit.items:
        call = item.item
        name = reader.symbol(call.func) if isinstance(call, cst.Call) else None
        if name not in ("variable_scope", "name_scope", "device", "control_dependencies"):
            raise reader.refuse(codes.NO_KERAS_LAYER, unit, "this `with` has no counterpart in a Keras model")
        assert isinstance(call, cst.Call)
        if name == "variable_scope" and keywords(call).keys() & {"reuse", "initializer", "regularizer"}:
            raise reader.refuse(codes.NO_KERAS_LAYER, unit, "a variable scope that reuses variables or sets defaults")
        if name == "control_dependencies":
            thing = reader.read(call.args[0].value)
            if not isinstance(thing, Updates | Tensors | TrainOp):
                raise reader.refuse(codes.NO_KERAS_LAYER, unit, "control dependencies between operations")
            reader.updates_are_run = reader.updates_are_run or isinstance(thing, Updates)
        if item.asname is not None:
            raise reader.refuse(codes.NO_KERAS_LAYER, unit, "this scope is bound to a name")
    outer, around = len(reader.scope_names), len(reader.scopes)
    calls = [item.item for item in unit.items if isinstance(item.item, cst.Call) and item.item.args]
    reader.scope_names += [text for call in calls if (text := text_of(call.args[0].value))]
    reader.scopes += [call.args[0].value for call in calls if reader.symbol(call.func) == "variable_scope"]
    left = reader.block(unit.body, modes)
    del reader.scope_names[outer:], reader.scopes[around:]
    gone = all(nothing_stays(reader, inner) for inner in units_of(unit.body))
    unwrap(reader, unit, None if gone else unit.body)
    return left


def _small(reader: ModelReader, small: cst.BaseSmallStatement) -> bool:
    """Read a simple statement; returns whether execution continues after it."""
    if isinstance(small, cst.Return):
        _return(reader, small)
        return False
    if isinstance(small, cst.Assign):
        assign(reader, small)
    elif isinstance(small, cst.AugAssign):
        _add(reader, small)
    elif isinstance(small, cst.Expr):
        _expression(reader, small)
    elif isinstance(small, cst.Assert):
        test = reader.read(small.test)
        if isinstance(test, Training) and reader.modes <= test.modes:
            reader.remove(small)
        elif not isinstance(test, Plain):
            raise reader.refuse(codes.NO_KERAS_LAYER, small, "this assertion depends on the data or the mode")
    elif isinstance(small, cst.Raise):
        return False
    elif not isinstance(small, cst.Pass):
        raise reader.refuse(codes.NO_KERAS_LAYER, small, "this statement of model_fn is not understood")
    return True


def _add(reader: ModelReader, small: cst.AugAssign) -> None:
    """`net += other` stays; a penalty that is added to a loss goes with it."""
    sides = [reader.read(side) for side in (small.target, small.value)]
    whole = penalties.added(reader, small, sides) if isinstance(small.operator, cst.AddAssign) else None
    if whole is not None and isinstance(small.target, cst.Name):
        reader.names[small.target.value] = whole
        reader.remove(small)
        return
    if any(isinstance(side, Choice) for side in sides):
        message = f"`{reader.module.code(small.target)}` has a different value in training than elsewhere"
        raise reader.refuse(codes.NO_KERAS_LAYER, small, message)
    if not all(isinstance(side, STAYS) for side in sides):
        raise reader.refuse(codes.ESTIMATOR_LOSS, small, "a sum of losses is not understood")
    note_in_arm(reader, reader.module.code(small.target), small.value, sides[0])


def _return(reader: ModelReader, small: cst.Return) -> None:
    if reader.entered:
        reader.returned = reader.read(small.value) if small.value is not None else PLAIN
        if small.value is not None and isinstance(reader.returned, STAYS):
            note_in_arm(reader, "", small.value, reader.returned)
        return
    modes = reader.modes
    for mode in sorted(modes):
        reader.modes = frozenset({mode})
        thing = reader.read(small.value) if small.value is not None else PLAIN
        if not isinstance(thing, Spec):
            raise reader.refuse(
                codes.ESTIMATOR_NOT_FOLLOWED, small, "model_fn returns something other than an EstimatorSpec"
            )
        reader.specs[mode] = thing
    reader.modes = modes
    reader.remove(small)


def _expression(reader: ModelReader, small: cst.Expr) -> None:
    if isinstance(small.value, cst.SimpleString | cst.ConcatenatedString):
        return
    call = small.value
    name = reader.symbol(call.func) if isinstance(call, cst.Call) else None
    if name is not None and name.startswith(("summary.", "contrib.summary.")):
        reader.plan.notes.append((small, "this summary is no longer written; the TensorBoard callback writes the "
                                        "loss and the metrics"))  # fmt: skip
        reader.remove(small)
    elif name in ("identity",):
        reader.remove(small)
    elif isinstance(call, cst.Call) and _talks(reader, call):
        if not all(_stays(reader, arg) for arg in call.args):
            reader.plan.notes.append((small, "this message is no longer written: it reports the mode or the data"))
            reader.remove(small)
        elif reader.modes != MODES:
            reader.remove(small)
    elif isinstance(reader.read(small.value), Plain):
        if reader.modes != MODES:
            func = call.func if isinstance(call, cst.Call) else None
            owner = root_name(func) if isinstance(func, cst.Attribute) else None
            if owner is not None and owner.value in reader.names:
                message = f"`{owner.value}` may only be changed here for some modes"
                raise reader.refuse(codes.NO_KERAS_LAYER, small, message)
            reader.remove(small)
    else:
        raise reader.refuse(codes.NO_KERAS_LAYER, small, "this statement of model_fn is not understood")


def _talks(reader: ModelReader, call: cst.Call) -> bool:
    """Whether a call writes a message: print, and the functions of loggers."""
    if isinstance(call.func, cst.Name) and call.func.value == "print":
        return "print" not in reader.names
    name = reader.program.modules[reader.module].symbols.get(call.func, "")
    return names.plain(name).removeprefix("tensorflow.").startswith(("logging.", "absl.logging."))


def _stays(reader: ModelReader, arg: cst.Arg) -> bool:
    """Whether what is passed to a call is there in the function that builds the Keras model."""
    try:
        return isinstance(reader.read(arg.value), STAYS)
    except Unconvertible:
        return False
