"""Arrays that a callback changes in place while fit() trains on them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import FIT, named_arguments
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.contents import classes_of
from tfmigrate.understand.lifecycle import Facts, Use
from tfmigrate.understand.objects import methods_in
from tfmigrate.understand.values import Items, Made, Opaque, Value, options
from tfmigrate.walk import walk

_IN_PLACE = frozenset({"fill", "put", "sort", "partition", "itemset"})
"""Methods of an array that change it."""
_FIRST_ARGUMENT = frozenset(
    {"numpy.copyto", "numpy.put", "numpy.place", "numpy.putmask", "numpy.random.shuffle", "random.shuffle"}
)
"""Functions that change what they are given first."""


def check(context: Context) -> Iterator[CallChange]:
    facts = context.facts
    for use in facts.uses:
        named = named_arguments(use.call, FIT) if use.method == "fit" else None
        given = [named[name].value for name in ("x", "y", "sample_weight") if named and name in named]
        arrays = {value for node in given for value in _arrays(facts.options(node))}
        changed = next(_changed(use, arrays, context), None) if arrays else None
        if changed is not None:
            message = (
                f"{changed} changes these arrays while fit() trains: old Keras read them again for each batch, but "
                "today's Keras and tf.data keep the values from the start of fit(); create the batches in a "
                "Sequence, or call fit() once per epoch"
            )
            yield CallChange(codes.CHANGED_ARRAYS, use.call, message, action="warn")


def _arrays(values: frozenset[Value]) -> Iterator[Value]:
    """What may be an array: made by a call out of sight, each by itself or in a list."""
    for value in values:
        if isinstance(value, Items):
            for item in value.values:
                yield from _arrays(options(item))
        elif isinstance(value, Opaque | Made):
            yield value


def _changed(use: Use, arrays: set[Value], context: Context) -> Iterator[str]:
    """The methods of this training's callbacks that write into one of the arrays, in words."""
    classes = {base for _, value in use.arguments for cls in classes_of(value) for base in cls.ancestors()}
    for facts in context.modules.values():
        for cls in facts.classes:
            if cls not in classes:
                continue
            for method in methods_in(cls):
                name = method.name.value
                if name.startswith("on_") and any(arrays & facts.options(node) for node in _written(method, facts)):
                    yield f"{cls.node.name.value}.{name}() ({facts.module.place(method)})"


def _written(method: cst.FunctionDef, facts: Facts) -> Iterator[cst.BaseExpression]:
    """What statements write into: `array[i] = ...`, `array += ...`, `array.fill(0)`, `np.copyto(array, ...)`."""
    for node in walk(method.body):
        if isinstance(node, cst.AssignTarget | cst.AugAssign):
            target = node.target
            if isinstance(target, cst.Subscript):
                yield target.value
            elif isinstance(node, cst.AugAssign):
                yield target
        elif isinstance(node, cst.Call):
            if node.args and facts.called(node) in _FIRST_ARGUMENT:
                yield node.args[0].value
            elif isinstance(node.func, cst.Attribute) and node.func.attr.value in _IN_PLACE:
                yield node.func.value
