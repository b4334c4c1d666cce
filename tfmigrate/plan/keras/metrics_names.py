"""`model.metrics_names`, which on Keras 3 does not name what `evaluate` returns."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tfmigrate.plan import codes
from tfmigrate.plan.change.call_change import CallChange
from tfmigrate.plan.change.calls import is_none, named_arguments, text_of
from tfmigrate.plan.data.only_output import has_one_output
from tfmigrate.plan.edits import Replace
from tfmigrate.plan.keras.methods import COMPILE
from tfmigrate.plan.keras.sequential_tensors import models_meant
from tfmigrate.plan.names.context import Context
from tfmigrate.understand.lifecycle import Facts
from tfmigrate.understand.syntax import index_of
from tfmigrate.understand.values import FunctionValue, ModelObject

_OTHER = "metrics_names is ['loss', 'compile_metrics'] in Keras 3, whatever compile() was given"


def check(context: Context) -> Iterator[CallChange]:
    """The names themselves are written where compile() and the one output of the model say them."""
    module = context.facts.module
    parts = {part.value: part for part in module.all_of(cst.Subscript)}
    for node in module.all_of(cst.Attribute):
        if node.attr.value != "metrics_names":
            continue
        models = {model for model in models_meant(node.value, context) if model is not None}
        if not models:
            continue
        listed = _names(models, context)
        part = parts.get(node)
        number = _number(part) if part is not None else None
        quote = context.draft.quote
        if listed is None or (number is not None and number >= len(listed)):
            message = f"{_OTHER}, so names and numbers no longer match: evaluate(..., return_dict=True) "
            message += "returns both"
            yield CallChange(codes.METRICS_NAMES, node, message, action="warn")
        elif part is not None and number is not None:
            message = f"{_OTHER}: the old name is written"
            yield CallChange(codes.METRICS_NAMES, node, message, Replace(part, f"{quote}{listed[number]}{quote}"))
        else:
            message = f"{_OTHER}: the names of what evaluate() returns are written"
            code = ", ".join(f"{quote}{name}{quote}" for name in listed)
            yield CallChange(codes.METRICS_NAMES, node, message, Replace(node, f"[{code}]"))


def _number(part: cst.Subscript) -> int | None:
    """The number in `metrics_names[1]`."""
    index = index_of(part)
    return index.evaluated_value if isinstance(index, cst.Integer) else None


def _names(models: set[ModelObject], context: Context) -> list[str] | None:
    """What `evaluate` returns for models with one output, which one compile() configures; None where that is open."""
    compiled = _only_compile(models, context)
    if compiled is None or not has_one_output(models, context.facts, context.modules):
        return None
    facts, call = compiled
    named = named_arguments(call, COMPILE)
    if named is None or not named.keys() <= {"optimizer", "loss", "metrics"}:
        return None
    if "loss" in named and isinstance(named["loss"].value, cst.List | cst.Tuple | cst.Dict):
        return None
    metrics = named.get("metrics")
    if metrics is None or is_none(metrics.value):
        return ["loss"]
    if not isinstance(metrics.value, cst.List | cst.Tuple):
        return None
    found = [_name(element.value, facts) for element in metrics.value.elements]
    known = ["loss", *(name for name in found if name is not None)]
    return known if None not in found and len(set(known)) == len(known) else None


def _only_compile(models: set[ModelObject], context: Context) -> tuple[Facts, cst.Call] | None:
    """The call that compiles the models, and the module it stands in, where there is one alone."""
    compiled = {
        use.call: facts
        for facts in context.modules.values()
        for use in facts.uses
        if use.method == "compile" and any(models & set(model.base_models()) for model in use.models)
    }
    if len(compiled) != 1:
        return None
    ((call, facts),) = compiled.items()
    return facts, call


def _name(metric: cst.BaseExpression, facts: Facts) -> str | None:
    """The name under which a word or a function is a metric."""
    word = text_of(metric)
    if word is not None:
        return word
    known = facts.canonical(metric)
    if known.startswith("keras.metrics.") and known.rpartition(".")[2].islower():
        return known.rpartition(".")[2]
    functions = [option for option in facts.options(metric) if isinstance(option, FunctionValue)]
    function = functions[0].node if len(functions) == 1 and len(facts.options(metric)) == 1 else None
    return function.name.value if isinstance(function, cst.FunctionDef) else None
