"""`K.in_train_phase(x, other, training)`: Keras 3 has no such function, and tells a layer by `training`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import named_arguments
from tfmigrate.plan.edits import Edit, Replace, Signature
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.module import Module
from tfmigrate.understand.parameters import nameable, positional
from tfmigrate.understand.syntax import dotted
from tfmigrate.walk import walk
from tfmigrate.written import Code

_PARAMETERS = ("x", "alt", "training")
_TRAINING = "training"


def check(context: Context) -> Iterator[CallChange]:
    """In a method that Keras tells whether it trains, or that can be: `x if training else other`."""
    module = context.facts.module
    with_parameter: set[cst.FunctionDef] = set()
    alone = {node.value for node in module.all_of(cst.Assign, cst.Return, cst.Arg)}
    for call in module.calls:
        if context.facts.canonical(call.func) != "keras.backend.in_train_phase":
            continue
        arguments = named_arguments(call, _PARAMETERS)
        functions = _functions_round(call, module)
        if arguments is None or not {"x", "alt"} <= set(arguments) or not functions:
            continue
        function = functions[0]
        asked = arguments.get(_TRAINING)
        if asked is not None and not (dotted(asked.value) == _TRAINING and _takes_training(function)):
            continue  # As `kwargs.get("training")`, which Keras 3 does not give: left to TFM501.
        more: tuple[Edit, ...] = ()
        if not _takes_training(function):
            if not _is_call_of_a_layer(function, module) or _TRAINING in module.code(function):
                continue
            if function not in with_parameter:
                with_parameter.add(function)
                parameters = [param.name.value for param in nameable(function.params)]
                more = (Signature(function, tuple(parameters), (_TRAINING,)),)
        x, other = (_value(arguments[name].value, functions, module) for name in ("x", "alt"))
        code: Code = (*x, f" if {_TRAINING} else ", *other)
        if call not in alone:
            code = ("(", *code, ")")
        message = "Keras 3 has no learning phase; `training` tells the layer whether it is training"
        yield CallChange(codes.TRAIN_PHASE, call, message, Replace(call, code), more=more)


def _takes_training(function: cst.FunctionDef) -> bool:
    params = function.params
    return any(param.name.value == _TRAINING for param in nameable(params))


def _is_call_of_a_layer(function: cst.FunctionDef, module: Module) -> bool:
    owner = next(iter(module.ancestors(function)), None)
    return function.name.value == "call" and isinstance(owner, cst.ClassDef) and bool(positional(function.params))


def _functions_round(call: cst.Call, module: Module) -> list[cst.FunctionDef]:
    """Innermost first."""
    functions = [unit for unit in module.places if isinstance(unit, cst.FunctionDef)]
    return [function for function in reversed(functions) if any(node is call for node in walk(function))]


def _value(node: cst.BaseExpression, functions: list[cst.FunctionDef], module: Module) -> Code:
    """The value of an argument, which may be a function that gives it."""
    if isinstance(node, cst.Lambda) and not positional(node.params):
        return _bracketed(node.body)
    if isinstance(node, cst.Name):
        for inner in module.places:
            if isinstance(inner, cst.FunctionDef) and inner.name.value == node.value:
                if module.function_round(inner) in functions or module.places[inner].owner is None:
                    return (node, "()")
    return _bracketed(node)


def _bracketed(node: cst.BaseExpression) -> Code:
    return ("(", node, ")") if isinstance(node, cst.IfExp | cst.Lambda | cst.NamedExpr) and not node.lpar else (node,)
