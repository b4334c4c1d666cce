"""Initializers that hand the `dtype` they are given to NumPy: Keras 2 gives them one of TensorFlow's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.names.context import Context
from tfmigrate.understand import names
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.reaching import parameters_of
from tfmigrate.understand.syntax import last_attribute
from tfmigrate.understand.values import FunctionValue
from tfmigrate.walk import walk


def check(context: Context) -> Iterator[CallChange]:
    """`np.ones(shape, dtype=dtype)` in an initializer: the NumPy type of that name is written."""
    facts, tf = context.facts, context.tf
    seen: set[cst.CSTNode] = set()
    for function in _initializers(context.modules):
        if function.module is not facts.module or function.node in seen or not _is_given_dtype(function):
            continue
        seen.add(function.node)
        if any(isinstance(part, cst.AssignTarget) and _is_dtype(part.target) for part in walk(function.node.body)):
            continue  # the function converts it already
        message = (
            "Keras 2 passes initializers a TensorFlow dtype, which NumPy does not accept: converted to a NumPy dtype"
        )
        for node in _given_to_numpy(function.node, facts):
            code = (node, " and ", f"{tf}.as_dtype(", node, ").as_numpy_dtype")
            yield CallChange(codes.DTYPE_OF_INITIALIZERS, node, message, Replace(node, code))


def _initializers(modules: Mapping[Module, Facts]) -> Iterator[FunctionValue]:
    """The functions that Keras calls as an initializer: what is passed as one, and the classes of one's own."""
    for facts in modules.values():
        for cls in facts.classes:
            method = cls.lookup("__call__")
            if isinstance(method, FunctionValue) and any(_is_initializer(base) for base in cls.outside_bases()):
                yield method
        for call in facts.module.calls:
            for arg in call.args:
                if arg.keyword is not None and arg.keyword.value.endswith("initializer"):
                    yield from (option for option in facts.options(arg.value) if isinstance(option, FunctionValue))


def _is_initializer(base: str) -> bool:
    return names.canonical(base).startswith("keras.initializers.")


def _is_given_dtype(function: FunctionValue) -> bool:
    return "dtype" in parameters_of(function.node)[1:]


def _is_dtype(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Name) and node.value == "dtype"


def _given_to_numpy(function: cst.FunctionDef | cst.Lambda, facts: Facts) -> Iterator[cst.BaseExpression]:
    """Each `dtype` that is an argument of a function of NumPy, or of `astype`."""
    for part in walk(function.body):
        if not isinstance(part, cst.Call):
            continue
        method = last_attribute(part.func)
        if facts.called(part).startswith("numpy.") or method == "astype":
            yield from (arg.value for arg in part.args if _is_dtype(arg.value))
