"""Losses that return one mean for the batch, and become what it is the mean of."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Set

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.edits import Edit, Remove, Replace
from tfmigrate.plan.keras.compiled_functions import compiled, parameters_of, returned_by
from tfmigrate.plan.keras.loss_variables import variables_of
from tfmigrate.plan.keras.mixed_samples import Reader
from tfmigrate.plan.keras.sample_shapes import SampleShape, is_whole_reduction
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.ordering import ordered
from tfmigrate.understand.syntax import dotted, last_attribute, sole_name
from tfmigrate.understand.values import FunctionValue, ModelObject
from tfmigrate.walk import calls_in, nodes_in
from tfmigrate.written import Code


def means_of(module: Module, modules: Mapping[Module, Facts], single: Set[ModelObject]) -> Iterator[CallChange]:
    """The losses of a module, wherever they are compiled with, that are one mean and become what it is the mean of."""
    reader, functions = Reader(modules), dict[FunctionValue, None]()
    for known in modules.values():
        for shown in compiled(known):
            if not shown.is_metric and not (shown.models and shown.models <= single):
                functions.update((value, None) for value in ordered(shown.values) if isinstance(value, FunctionValue))
    changes = (
        as_rows(function, modules)
        for function in functions
        if function.module is module and reader.mixes_samples(function)
    )
    yield from {change.node: change for change in changes if change is not None}.values()


def as_rows(value: FunctionValue, modules: Mapping[Module, Facts]) -> CallChange | None:
    """A loss that is nothing but the mean of a value for each sample, or each of its elements, as these values."""
    function, facts = value.node, modules.get(value.module)
    if facts is None or not isinstance(function, cst.FunctionDef):
        return None
    returned, parameters = returned_by(value), parameters_of(value)
    if len(returned) != 1 or returned[0] is None or len(parameters) != 2 or _is_called(value, modules):
        return None
    shape = SampleShape(facts, frozenset(parameters), variables_of(function))
    lost = _means_alone(shape, returned[0], function)
    if lost is None:
        return None
    plain = {returned[0], *(value for value in shape.variables.values() if value is not None)}
    named = {one.value: one for one in nodes_in(function.body, cst.Assign)}
    edits = [_without(call, named, plain) if axes else _of_the_last_axis(call) for call, axes in lost.items()]
    return CallChange(
        codes.BATCH_LOSS,
        next(iter(lost)),
        f"{function.name.value}() returned one mean for the batch, which Keras 3 multiplies by the number of "
        "replicas: it now returns one value per sample, whose mean Keras takes itself",
        edits[0],
        more=tuple(edits[1:]),
    )


def _means_alone(
    shape: SampleShape, returned: cst.BaseExpression, function: cst.FunctionDef
) -> dict[cst.Call, int | None] | None:
    """The means that a result is the sum of, each with the axes that its values have lost, where the function reduces
    to nothing else and their values may be added to each other."""
    means = dict.fromkeys(shape.means_in(returned) or ())
    reductions = {call for call in calls_in(function.body) if is_whole_reduction(call, shape.facts)}
    if not means or means.keys() != reductions or any(len(call.args) != 1 for call in means):
        return None
    lost = {call: shape.lost_axes(call.args[0].value) for call in means}
    return lost if _are_of_one_shape(lost.values()) else None


def _of_the_last_axis(mean: cst.Call) -> Edit:
    return Replace(mean, (mean.func, "(", mean.args[0].value, ", axis=-1)"))


def _without(mean: cst.Call, named: Mapping[cst.BaseExpression, cst.Assign], plain: Set[cst.CSTNode]) -> Edit:
    """What a mean is the mean of in its place; `loss = mean(loss)` goes whole. `named`: values of assignments."""
    if mean in named and sole_name(named[mean]) == dotted(mean.args[0].value):
        return Remove(named[mean])
    return Replace(mean, _values_of(mean, plain))


def _are_of_one_shape(lost: Collection[int | None]) -> bool:
    """Whether values that have lost so many axes are of one shape, when those that have lost none lose the last."""
    return None not in lost and len({max(axes or 0, 1) for axes in lost}) <= 1


def _values_of(mean: cst.Call, plain: Set[cst.CSTNode]) -> Code:
    """What a mean is the mean of, in brackets where the arithmetic beside it binds more tightly. `plain`: has none."""
    value = mean.args[0].value
    weak = isinstance(value, cst.BinaryOperation | cst.UnaryOperation) and not value.lpar
    return ("(", value, ")") if weak and mean not in plain else (value,)


def _is_called(value: FunctionValue, modules: Mapping[Module, Facts]) -> bool:
    """Whether the program itself calls a loss, and so may compute with the one number that it returns; a method by its
    name, of whatever object."""
    method = value.node.name.value if value.owner is not None and isinstance(value.node, cst.FunctionDef) else None
    return any(
        value in known.options(call.func) or (method is not None and last_attribute(call.func) == method)
        for known in modules.values()
        for call in known.module.calls
    )
