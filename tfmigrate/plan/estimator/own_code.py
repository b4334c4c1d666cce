"""Functions and classes of the program that a model function calls: what a call runs, whether it makes variables."""

from __future__ import annotations

import libcst as cst

from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import ProgramFacts
from tfmigrate.understand.values import ClassValue, FunctionValue, Instance, Value, function_of
from tfmigrate.walk import calls_in

_MAKING = ("layers.", "contrib.layers.", "contrib.slim.", "nn.rnn_cell.", "contrib.rnn.")
_VARIABLES = frozenset({"get_variable", "Variable", "get_local_variable"})


def run_by(value: Value | None) -> cst.CSTNode | None:
    """The function of the program that a call of a value runs."""
    function = _function_run_by(value)
    return function.node if function is not None else None


def _function_run_by(value: Value | None) -> FunctionValue | None:
    if isinstance(value, ClassValue | Instance):
        cls, name = (value, "__init__") if isinstance(value, ClassValue) else (value.cls, "__call__")
        member = cls.lookup(name)
        return member if isinstance(member, FunctionValue) else None
    return function_of(value) if value is not None else None


def builds(program: ProgramFacts, function: FunctionValue) -> bool:
    """Whether a function, or one that it calls, makes variables in the graph of TensorFlow 1."""
    pending, seen = [function], {function.node}
    while pending:
        current = pending.pop()
        facts = program.modules[current.module]
        for call in calls_in(current.node.body):
            name = names.plain(facts.called(call)).removeprefix("tensorflow.")
            if name in _VARIABLES or name.startswith(_MAKING):
                return True
            inner = _function_run_by(facts.values.get(call.func))
            if inner is not None and inner.node not in seen:
                seen.add(inner.node)
                pending.append(inner)
    return False
