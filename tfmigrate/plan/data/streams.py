"""Plain Python generators, which lose batches in Keras 3 under a strategy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import FIT, Revision, unchanged
from tfmigrate.plan.change.helper import Helper
from tfmigrate.plan.data.batches import Data, data_of
from tfmigrate.plan.data.generators import Restarts, is_out_of_sight
from tfmigrate.plan.data.sequences import is_sequence
from tfmigrate.plan.draft import Draft
from tfmigrate.plan.edits import Argument, Arguments
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.module import Module
from tfmigrate.understand.ordering import ordered
from tfmigrate.understand.reaching import bound_once
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import ClassValue, FunctionValue, Instance, Literal, Made, Opaque, Value

_HELPER = "as_dataset"
_KEPT = "as_dataset_of"
_NONE = Literal(None)
_UNKNOWN = "this call does not create it, or is not its only reader"
_AGAIN = "; each validation restarts it, where old Keras continued from the end of the last one"
_AHEAD = "; a validation may start with the last batches of the one before, where old Keras simply continued"
_ITERATOR = (
    "Keras 3 under a strategy skips some batches of a generator, and accepts no other iterator: it becomes a dataset "
    "that repeats the skipped batches"
)


def check(context: Context) -> Iterator[CallChange]:
    yield from python_generators(context.spread, context.modules, context.migration.scopes_of, context.draft)


def python_generators(
    facts: Facts, modules: Mapping[Module, Facts], scopes_of: Callable[[Module], Scopes], draft: Draft
) -> Iterator[CallChange]:
    """A generator's batches under a strategy: Keras 3 fetches some that it never trains on. It takes no other iterator.

    Where a function yields the same batches whenever it is started, it becomes a dataset that Keras can restart.
    Any other iterator becomes a dataset that keeps its last batches.
    """
    restarts, scopes = Restarts(modules, scopes_of), draft.scopes
    helper, kept = Helper.of(draft, _HELPER), Helper.of(draft, _KEPT)
    makers: dict[cst.Call, str] = {}
    taken: dict[cst.BaseExpression, CallChange] = {}
    warned: dict[cst.Call, str] = {}
    some_are_none = False
    for call, paths in _streams(facts):
        first, values = paths[0], [value for path in paths for value in path.values]
        maker = _maker(first.node, scopes)
        problem = _problem(maker, first.steps, facts, restarts) if maker is not None else _UNKNOWN
        if not all(map(_is_stream, values)):
            problem = problem or "it may be something else"
        if maker is not None and problem is None:
            makers[maker] = _AGAIN if first.parameter == "validation_data" else ""
        elif first.steps is not None and all(_is_stream(value) or value == _NONE for value in values):
            some_are_none |= _NONE in values
            again = _AHEAD if first.parameter == "validation_data" else ""
            whole = Revision(call, wrapped=((first.node, (f"{kept}(", first.node, ")")),))
            message = f"{_ITERATOR}; it cannot be restarted: {problem}{again}"
            taken[first.node] = CallChange(codes.PYTHON_GENERATOR, first.node, message, whole)
        else:
            warned.setdefault(call, problem or "")
    yield from kept.brought_by(taken, taken.values(), leave_out=lambda unit: _asks_for_none(unit) and not some_are_none)
    for call, name in _elsewhere(facts).items():
        message = (
            f"the definition of {name}() was not found beside this file, above it, or in a folder that it adds to "
            "sys.path: if it is a Python generator, Keras 3 under a strategy skips some of its batches; pass tfmigrate "
            "its file there too, or use a Sequence or a tf.data.Dataset"
        )
        yield CallChange(codes.PYTHON_GENERATOR, call, message, action="warn")
    for call, problem in warned.items():
        yield CallChange(
            codes.PYTHON_GENERATOR,
            call,
            "Keras 3 under a strategy skips some batches of a plain Python generator, and this one stays "
            f"({problem}): pass a tf.data.Dataset.from_generator(..., output_signature=...) that restarts it, or a "
            "Sequence",
            action="warn",
        )
    changes = []
    for maker, again in makers.items():
        edit = Arguments(maker, (Argument(maker.func), *unchanged(maker.args)), function=helper.name)
        message = (
            "Keras 3 under a strategy skips some batches of a plain Python generator: it becomes a dataset, which "
            f"loses none{again}"
        )
        changes.append(CallChange(codes.PYTHON_GENERATOR, maker, message, edit))
    yield from helper.brought_by(makers, changes)


def _streams(facts: Facts) -> Iterator[tuple[cst.Call, list[Data]]]:
    """Each argument that may be a generator or another iterator, with what it is on every path to its call."""
    paths_of: dict[tuple[cst.Call, str], list[Data]] = {}
    for use in facts.uses:
        for data in data_of(use):
            paths_of.setdefault((use.call, data.parameter), []).append(data)
    for (call, _), paths in paths_of.items():
        if any(_is_stream(value) for path in paths for value in path.values):
            yield call, paths


def _elsewhere(facts: Facts) -> dict[cst.Call, str]:
    """The calls that train on what a function of an unknown module makes, with its name."""
    makers: dict[cst.Call, str] = {}
    for use in facts.uses:
        for data in data_of(use) if use.method in _TRAIN else ():
            if not any(map(_is_stream, data.values)) and not _takes_arrays(use, data):
                names = filter(None, (made_elsewhere(value, facts) for value in ordered(data.values)))
                makers.update((use.call, name) for name in names if use.call not in makers)
    return makers


def _takes_arrays(use: Use, data: Data) -> bool:
    """Whether a call cuts data into batches itself: what it is given beside them no generator comes with."""
    beside = (use.argument(FIT.index(name), name) for name in ("y", "batch_size"))
    known = any(value is not None and value != _NONE for value in beside)
    return use.method == "fit" and data.steps is None and known


def _asks_for_none(unit: cst.BaseStatement) -> bool:
    """`if iterator is None:`"""
    test = unit.test if isinstance(unit, cst.If) else None
    return isinstance(test, cst.Comparison) and isinstance(test.left, cst.Name) and test.left.value == "iterator"


def _is_stream(value: Value) -> bool:
    """Whether a value is a generator, an iterator of a class of the program, or what zip() makes of others."""
    if is_sequence(value):
        return False
    if isinstance(value, Opaque) and isinstance(value.node, cst.Call):
        return dotted(value.node.func) == "zip"
    if isinstance(value, Instance):
        # Keras's own Sequence and its iterators have no `__next__` that the program wrote.
        return isinstance(value.cls, ClassValue) and isinstance(value.cls.lookup("__next__"), FunctionValue)
    return isinstance(value, Made) and value.kind == "generator"


_TRAIN = frozenset({"fit", "fit_generator"})


def made_elsewhere(value: Value, facts: Facts) -> str | None:
    """The name of a function that made a value, and comes from an unknown module; None for any other."""
    call = value.node if isinstance(value, Opaque) else None
    name = facts.called(call)
    return name if is_out_of_sight(name) else None


def _maker(node: cst.BaseExpression, scopes: Scopes) -> cst.Call | None:
    """The call that makes a generator which only this place takes batches from."""
    if isinstance(node, cst.Name):
        value = bound_once(node, scopes, reads=1)
        return value if isinstance(value, cst.Call) else None
    return node if isinstance(node, cst.Call) else None


def _problem(maker: cst.Call, steps: cst.Arg | None, facts: Facts, restarts: Restarts) -> str | None:
    return (
        restarts.objection_to(maker, facts) if steps is not None else "the number of batches taken from it is unknown"
    )
