"""Whether a loss keeps the samples of its batch apart."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import libcst as cst

from tfmigrate.plan.change.calls import has_stars, is_none
from tfmigrate.plan.data.generators import is_out_of_sight
from tfmigrate.plan.keras.compiled_functions import called_by, parameters_of, returned_by
from tfmigrate.plan.keras.loss_variables import variables_of
from tfmigrate.plan.keras.sample_shapes import REDUCTIONS, SampleShape, axes_of, is_whole_reduction, name_of
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.ordering import ordered
from tfmigrate.understand.reaching import default_of
from tfmigrate.understand.values import FunctionValue, Literal, Parameter, Symbol, Value
from tfmigrate.walk import calls_in, walk


@dataclass(frozen=True)
class Reader:
    """Reads what a loss does with its batch, through the functions of the program that it calls."""

    modules: Mapping[Module, Facts]

    def is_one_mean(self, function: FunctionValue) -> bool:
        """Whether it returns one mean over everything, or a sum of such, which is the mean of those of equal parts."""
        facts, node = self.modules[function.module], function.node
        returned = returned_by(function)
        over = [call for call in calls_in(node.body) if _is_over_batch(call, facts)]
        if len(returned) != 1 or returned[0] is None or any(_cuts_batch(function)):
            return False
        variables = variables_of(node) if isinstance(node, cst.FunctionDef) else {}
        means = SampleShape(facts, frozenset(parameters_of(function)), variables).means_in(returned[0])
        return bool(means) and set(means or ()) == set(over)

    def mixing(self, values: Collection[Value]) -> list[FunctionValue]:
        """Those of some values, in order, that are functions which do."""
        return [value for value in ordered(values) if isinstance(value, FunctionValue) and self.mixes_samples(value)]

    def mixes_samples(self, function: FunctionValue, read: set[cst.CSTNode] | None = None, *, cut: bool = True) -> bool:
        """Whether it reduces over the batch, or cuts the batch into parts, itself or in a function that it calls.

        `read`: functions that were read before; `cut`: whether cutting counts; what a layer is given may be a list of
        tensors.
        """
        facts = self.modules.get(function.module)
        if facts is None or function.is_generator or (read is not None and function.node in read):
            return False
        calls = calls_in(function.node.body)
        if any(_is_over_batch(call, facts) for call in calls) or (cut and any(_cuts_batch(function))):
            return True
        read = set() if read is None else read
        read.add(function.node)
        return any(self.mixes_samples(callee, read, cut=cut) for callee in _callees(function, facts))

    def out_of_sight(self, function: FunctionValue) -> list[str]:
        """The functions of unknown modules that it calls, also through functions of the program."""
        pending, read, found = [function], set[cst.CSTNode](), dict[str, None]()
        while pending:
            function = pending.pop()
            facts = self.modules.get(function.module)
            if facts is None or function.node in read:
                continue
            read.add(function.node)
            called_names = (facts.called(call) for call in calls_in(function.node.body))
            found.update((name, None) for name in called_names if is_out_of_sight(name))
            pending.extend(_callees(function, facts))
        return list(found)


def _callees(function: FunctionValue, facts: Facts) -> list[FunctionValue]:
    """The functions of the program that a function calls, methods and partial ones included."""
    options = [option for call in calls_in(function.node.body) for option in facts.options(call.func)]
    return [run for option in options for run in called_by(option) if isinstance(run, FunctionValue)]


def _is_over_batch(call: cst.Call, facts: Facts) -> bool:
    """A reduction over the batch's axis, alone or among others."""
    if is_whole_reduction(call, facts):
        return True
    if not _may_reduce(call.func, facts) or has_stars(call) or not call.args:
        return False
    axes = axes_of(call)
    return not axes or any(_may_be_batch(axis, facts) for axis in axes)


def _may_reduce(function: cst.BaseExpression, facts: Facts) -> bool:
    """Whether it is one of the reductions, or may be one of them by another name: `KINDS["mean"]`."""
    symbols = [option.name for option in facts.options(function) if isinstance(option, Symbol)]
    known = {names.canonical(name) if names.flavour(name) else name for name in symbols}
    return not REDUCTIONS.isdisjoint({name_of(function, facts), *known})


def _may_be_batch(axis: cst.BaseExpression, facts: Facts) -> bool:
    """Whether an axis is that of the batch, or a parameter of a function that may be left at None."""
    if isinstance(axis, cst.Integer):
        return _is_zero(axis)
    options = facts.options(axis)
    values = [option.value for option in options if isinstance(option, Literal)]
    if any(value is None or (value == 0 and value is not False) for value in values):
        return True
    return bool(options) and all(isinstance(option, Parameter) and _is_left_at_none(option) for option in options)


def _is_left_at_none(parameter: Parameter) -> bool:
    """Whether the default of a parameter, for which no call is seen to pass anything, means the batch."""
    function = parameter.frame.function
    default = default_of(parameter.name, function) if isinstance(function, cst.FunctionDef) else None
    return default is not None and (is_none(default) or _is_zero(default))


def _is_zero(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Integer) and node.evaluated_value == 0


def _cuts_batch(function: FunctionValue) -> Iterator[bool]:
    """`y_pred[:8]`, `y_pred[::3]`: some samples of a loss's argument."""
    parameters = set(parameters_of(function)[:2])
    for node in walk(function.node.body):
        if isinstance(node, cst.Subscript) and isinstance(node.value, cst.Name) and node.value.value in parameters:
            first = node.slice[0].slice
            yield isinstance(first, cst.Slice) and any((first.lower, first.upper, first.step))
