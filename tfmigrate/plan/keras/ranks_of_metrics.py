"""Metrics that Python computes (`tf.py_func`): TensorFlow does not know how many axes they have, and Keras 3 asks."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.compiled_functions import compiled
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.ordering import ordered
from tfmigrate.understand.reaching import settled
from tfmigrate.understand.scopes import Scopes
from tfmigrate.understand.syntax import last_attribute
from tfmigrate.understand.values import FunctionValue
from tfmigrate.walk import calls_in, nodes_in

PYTHON_CALLS = frozenset(
    {"tensorflow.py_func", "tensorflow.py_function", "tensorflow.numpy_function", "tensorflow.contrib.eager.py_func"}
)
"""What runs a Python function in a graph."""
_GIVING_AXES = frozenset({"set_shape", "ensure_shape"})
_MESSAGE = (
    "Keras 3 needs the rank of a metric, which is unknown for a result computed by Python: it becomes a vector, "
    "whose mean is the same"
)


def check(context: Context) -> Iterator[CallChange]:
    for function in context.migration.once(_metrics):
        if function.module is context.facts.module:
            for call in _returned(function, context.facts, context.scopes):
                edit = Replace(call, (f"{context.tf}.reshape(", call, ", [-1])"))
                yield CallChange(codes.RANKS_OF_METRICS, call, _MESSAGE, edit)


def _metrics(migration: Migration) -> tuple[FunctionValue, ...]:
    """The functions that some compile() of the program is given as metrics, each once."""
    shown = (each for facts in migration.facts.modules.values() for each in compiled(facts) if each.is_metric)
    found = (value for each in shown for value in ordered(each.values) if isinstance(value, FunctionValue))
    return tuple({value.node: value for value in found}.values())


def _returned(function: FunctionValue, facts: Facts, scopes: Scopes) -> Iterator[cst.Call]:
    """The calls of Python whose result a metric is, if nothing in it says how many axes that has."""
    node = function.node
    if isinstance(node, cst.Lambda):
        values = [node.body]
    else:
        values = [part.value for part in nodes_in(node.body, cst.Return) if part.value is not None]
    if any(last_attribute(call.func) in _GIVING_AXES for call in calls_in(node)):
        return
    for value in dict.fromkeys(settled(value, scopes) for value in values):
        if isinstance(value, cst.Call) and facts.canonical(value.func).replace(".compat.v1.", ".") in PYTHON_CALLS:
            yield value
