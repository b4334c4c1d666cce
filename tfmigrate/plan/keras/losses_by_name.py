"""Losses that a program looks up by their name in one of its modules: any of the module may be meant (TFM403)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import text_of
from tfmigrate.plan.keras.compiled_functions import called, parameters_of
from tfmigrate.plan.keras.mixed_samples import Reader
from tfmigrate.plan.names.context import Context, Migration
from tfmigrate.understand.blocks import units_of
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.module import Module
from tfmigrate.understand.parameters import positional
from tfmigrate.understand.syntax import dotted
from tfmigrate.understand.values import (
    ClassValue,
    Frame,
    FunctionValue,
    Items,
    ModuleValue,
    Opaque,
    Parameter,
    Value,
    options,
)
from tfmigrate.understand.values import Mapping as Known

_NAMED = 3
"""Functions that a message names."""


def check(context: Context) -> Iterator[CallChange]:
    """`getattr(losses, name)`, where what some compile() is given cannot be read, and a loss of the module needs the
    whole batch."""
    migration = context.migration
    if not migration.spreads or not migration.once(_gives_unread_loss):
        return
    for node, modules in _look_ups(context.facts):
        mixing = [function for module in modules for function in _mixing(module, context.modules)]
        if mixing:
            more = f", or {len(mixing) - _NAMED} more," if len(mixing) > _NAMED else ""
            names = " or ".join(map(called, mixing[:_NAMED]))
            does = "each of which computes" if len(mixing) > 1 else "which computes"
            message = (
                f"a loss that is looked up here by its name may be {names}{more}, {does} over the whole batch, but "
                "each replica sees only its own part, and Keras 3 multiplies a scalar loss by the number of replicas: "
                "`tfmigrate explain TFM403` shows how to give it the whole batch"
            )
            yield CallChange(codes.BATCH_LOSS, node, message, action="warn")


def _gives_unread_loss(migration: Migration) -> bool:
    """Whether the loss of a model that a strategy spreads is unknown."""
    for use in migration.facts.uses:
        loss = use.argument(1, "loss") if use.method == "compile" else None
        if loss is not None and not options(use.receiver) <= migration.single and _is_unread(loss):
            return True
    return False


def _is_unread(value: Value) -> bool:
    for option in options(value):
        if type(option) is Opaque or isinstance(option, Parameter):
            return True
        if isinstance(option, Items | Known) and (not option.values or any(map(_is_unread, option.values))):
            return True
    return False


def _look_ups(facts: Facts) -> Iterator[tuple[cst.Call | cst.Subscript, list[Module]]]:
    """The places that take something by a name that is not written there, with the modules that they take it from."""
    for call in facts.module.calls:
        by_name = len(call.args) in (2, 3) and text_of(call.args[1].value) is None
        if by_name and dotted(call.func) == "getattr":
            yield call, _modules(facts, call.args[0].value)
        elif dotted(call.func) == "eval" and call.args and text_of(call.args[0].value) is None:
            yield call, [facts.module]
    for taken in facts.module.all_of(cst.Subscript):
        index = taken.slice[0].slice
        if isinstance(index, cst.Index) and text_of(index.value) is None:
            yield taken, _named_in(taken.value, facts)


def _named_in(node: cst.BaseExpression, facts: Facts) -> list[Module]:
    """The modules whose names `globals()`, `vars(losses)` and `losses.__dict__` hold."""
    if isinstance(node, cst.Attribute) and node.attr.value == "__dict__":
        return _modules(facts, node.value)
    if not isinstance(node, cst.Call) or dotted(node.func) not in ("globals", "vars"):
        return []
    return _modules(facts, node.args[0].value) if node.args else [facts.module]


def _modules(facts: Facts, node: cst.BaseExpression) -> list[Module]:
    named = (option.module for option in facts.options(node) if isinstance(option, ModuleValue))
    return sorted(named, key=lambda module: module.path)


def _mixing(module: Module, modules: Mapping[Module, Facts]) -> Iterator[FunctionValue]:
    """The functions and objects of a module that may be losses and relate the samples of a batch."""
    reader, facts = Reader(modules), modules.get(module)
    frame = Frame(module, None, None)
    functions = [FunctionValue(unit, frame) for unit in units_of(module.tree) if isinstance(unit, cst.FunctionDef)]
    for cls in facts.classes if facts is not None else ():
        functions += [call for name in ("__call__", "call") if (call := _method(cls, name)) is not None]
    for function in functions:
        if _takes_two(function) and reader.mixes_samples(function):
            yield function


def _takes_two(function: FunctionValue) -> bool:
    """`def dice(y_true, y_pred, smooth=1.0)`: what compile() can call."""
    given = len(parameters_of(function))
    return given - sum(param.default is not None for param in positional(function.node.params)) <= 2 <= given


def _method(cls: ClassValue, name: str) -> FunctionValue | None:
    member = cls.members.get(name)
    return member if isinstance(member, FunctionValue) else None
